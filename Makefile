# kvrisk - see README.md. The two commands: `make run` and `make test`.
#
#   make              build ./kvrisk
#   make run          install what is missing, build, open the screens on the bundled sample
#   make test         install what is missing, build, run every test
#   make test-units   the unit tests alone
#   make check-mem    the unit tests under valgrind
#   make fuzz         run every fuzz target for FUZZ_SECONDS each (clang)
#   make bench        speed tables, side by side in one run
#   make sample-model train data/samples/mini-llama.gguf anew (minutes; see tools/train/README.md)
#   make install      PREFIX=/usr/local, DESTDIR honoured
#   make deps         install every build and test package that is missing
#
# Variables: CC=gcc|clang, SAN=1 (address and undefined behaviour), WERROR=1, V=1 (show commands).

PKG_CONFIG   ?= pkg-config
PREFIX       ?= /usr/local
CFLAGS       ?= -O2 -g
FUZZ_SECONDS ?= 60
VERSION      := 0.1.0

ifeq ($(origin CC),default)
CC := gcc
endif
ccname := $(if $(findstring clang,$(CC)),clang,gcc)
B      := build/$(ccname)$(if $(SAN),-san)$(if $(WERROR),-werror)
Q      := $(if $(V),,@)

# Debian packages. Tests add to what the build needs; `make deps` installs both. parallel: shards of a
# calibration run are tested as the README says they are run.
DEPS_BUILD := gcc libc6-dev make pkg-config libncurses-dev libcjson-dev libgsl-dev libopenblas-dev \
              libssl-dev libunistring-dev libyaml-dev
DEPS_TEST  := libcmocka-dev tmux ncurses-term procps locales python3 python3-scipy valgrind clang \
              libclang-rt-dev parallel

PKGS      := libcjson gsl libcrypto openblas yaml-0.1
TERM_PKGS := ncursesw
TEST_PKGS := cmocka

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
        -Wvla -Wformat=2 -Werror=implicit-function-declaration $(if $(WERROR),-Werror)
comma := ,
SANFLAGS := $(if $(SAN),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)

DEFS   := -D_XOPEN_SOURCE=700 -DKR_VERSION='"$(VERSION)"' -DKR_PREFIX='"$(PREFIX)"'
cflags  = -std=c11 $(DEFS) -Isrc -I. $(WARN) $(SANFLAGS) $(CFLAGS) \
          $(shell $(PKG_CONFIG) --cflags $(PKGS))
# gsl's .pc file names -lgslcblas, which would shadow OpenBLAS's cblas with a slow one.
# libunistring has no .pc file.
libs    = $(filter-out -lgslcblas,$(shell $(PKG_CONFIG) --libs $(PKGS))) -lunistring -lpthread -lm $(LDLIBS)
# Not its -D: the feature macros are the ones above.
term_cflags = $(filter-out -D%,$(shell $(PKG_CONFIG) --cflags $(TERM_PKGS)))
term_libs   = $(shell $(PKG_CONFIG) --libs $(TERM_PKGS))

obj       = $(patsubst %.c,$B/%.o,$(1))
CORE      := $(call obj,$(wildcard src/base/*.c src/calib/*.c src/risk/*.c src/verdict/*.c \
               src/ledger/*.c src/engine/*.c src/evict/*.c src/sample/*.c src/export/*.c))
CLI       := $(call obj,$(wildcard src/cli/*.c))
UI        := $(call obj,$(filter-out ui/term.c ui/run.c,$(wildcard ui/*.c)))
TERM_OBJS := $(call obj,$(wildcard ui/term.c ui/run.c))
MAIN      := $(call obj,$(wildcard src/kvrisk.c))
LIB       := $B/libkvrisk.a

# The sample model's trainer: built for this machine when asked for, and plainly for its tests.
TRAIN        := $(call obj,$(filter-out %/main.c,$(wildcard tools/train/*.c)))
TRAINER      := build/train/kvrisk-train
TRAIN_CFLAGS ?= -O3 -march=native -ffast-math
TRAIN_SRC    := $(wildcard tools/train/*.c) src/sample/words.c src/sample/tasks.c \
                src/base/status.c src/base/buf.c src/base/file.c

UNITS   := $(patsubst %.c,$B/%,$(wildcard tests/*/test_*.c))
SCRIPTS := $(sort $(wildcard tests/*.sh tests/cli/*.sh tests/tty/*.sh))
SCRIPTS := $(filter-out tests/run.sh tests/deps.sh %/lib.sh,$(SCRIPTS))
BENCHES := $(patsubst %.c,$B/%,$(wildcard tests/bench/*.c))
FUZZERS := $(patsubst %.c,$B/%,$(wildcard tests/fuzz/fuzz_*.c))

all: kvrisk

# Reads sources and libraries only when asked to build, so that `make run` works on a machine where
# pkg-config itself must be installed first.
$B/kvrisk: $(MAIN) $(CLI) $(UI) $(TERM_OBJS) $(LIB)
	@echo "  LINK  $@"
	$(Q)$(CC) $(SANFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(term_libs) $(libs)

# The program at the root is the one of the flavour that was asked for last.
kvrisk: $B/kvrisk FORCE
	@cmp -s $< $@ || { cp $< $@.new && mv -f $@.new $@; } # also while it runs
FORCE:

$(LIB): $(CORE)
	$(Q)rm -f $@ && ar rcs $@ $^

$(TERM_OBJS): extra = $(term_cflags)

$B/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(cflags) $(extra) -MMD -MP -c -o $@ $<

# A unit test sees every room but the terminal back end, so it needs no terminal.
$B/tests/%: tests/%.c $(LIB) $(UI) $(CLI) $(TRAIN)
	@mkdir -p $(@D)
	@echo "  TEST  $<"
	$(Q)$(CC) $(cflags) -MMD -MP $(LDFLAGS) -o $@ $< $(UI) $(CLI) $(TRAIN) $(LIB) \
	    $(shell $(PKG_CONFIG) --cflags --libs $(TEST_PKGS)) $(libs)

# Everything a reader can reach, instrumented once for all targets.
fuzzflags  = $(filter-out -Werror,$(cflags)) -O1 -fsanitize=address,undefined
FUZZED    := $(patsubst %.c,$B/fuzzed/%.o,$(wildcard src/base/*.c src/calib/*.c src/risk/*.c \
               src/verdict/*.c src/export/*.c src/ledger/*.c src/engine/*.c src/evict/*.c src/sample/*.c \
               ui/eval_line.c))
$(FUZZED): $B/fuzzed/%.o: %.c $(wildcard src/*/*.h) ui/eval_line.h
	@mkdir -p $(@D)
	$(Q)clang $(fuzzflags) -fsanitize=fuzzer-no-link -c -o $@ $<

$(FUZZERS): $B/tests/fuzz/%: tests/fuzz/%.c $(FUZZED)
	@mkdir -p $(@D)
	@echo "  FUZZ  $<"
	$(Q)clang $(fuzzflags) -fsanitize=fuzzer -o $@ $^ $(libs)

units: $(UNITS)
benches: $(BENCHES)
fuzzers: $(FUZZERS)

run: deps
	@$(MAKE) --no-print-directory kvrisk
	@./kvrisk

test: deps
	@$(MAKE) --no-print-directory test-only

test-only: kvrisk $(UNITS)
	@CC="$(CC)" SAN="$(SAN)" tests/run.sh $(UNITS) $(SCRIPTS)

test-units: $(UNITS)
	@tests/run.sh $(UNITS)

# OpenBLAS starts a thread when it is loaded, whose stack counts as possibly lost.
check-mem: $(UNITS)
	@RUNNER="valgrind -q --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=9" \
	    tests/run.sh $(UNITS)

fuzz: $(FUZZERS)
	@for f in $(FUZZERS); do \
	    c=tests/fuzz/corpus/$$(basename $$f); d=build/corpus/$$(basename $$f); mkdir -p $$d; \
	    echo "== $$f"; $$f -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 \
	        -artifact_prefix=build/ -print_final_stats=1 $$d $$([ -d $$c ] && echo $$c) 2>&1 | tail -n 15 || exit 1; done

bench: deps
	@$(MAKE) --no-print-directory kvrisk benches
	@tests/bench/run.sh $B

$(TRAINER): $(TRAIN_SRC) $(wildcard tools/train/*.h src/sample/*.h) Makefile
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CC) $(cflags) $(TRAIN_CFLAGS) -o $@ $(TRAIN_SRC) $(libs)

# Three runs, each from the weights of the one before: all families, mostly counting, mostly long.
TRAIN_RUN := $(TRAINER) --shape 4,128,8,4,32,192
sample-model: $(TRAINER)
	$(TRAIN_RUN) --seed 11 --mix 1,2,2,2,3,4,2,3 --warm 50 --decay-from 50 --report 1 \
	    --stages 64:64:3:270:60:100,32:128:4:180:45:55,16:256:6:150:25:50,8:512:6:170:10:50,4:1024:6:130:10:50 \
	    --save build/train/1.weights -o build/train/1.gguf
	$(TRAIN_RUN) --seed 12 --mix 1,2,2,2,2,12,2,2 --warm 20 --decay-from 40 --report 1 \
	    --stages 24:192:4:120:0:35,6:640:5:80:0:30,4:1024:5:40:0:30 \
	    --load build/train/1.weights --save build/train/2.weights -o build/train/2.gguf
	$(TRAIN_RUN) --seed 13 --mix 1,3,3,3,2,5,2,3 --warm 10 --decay-from 30 \
	    --stages 10:1024:6:150:5:35 --load build/train/2.weights -o data/samples/mini-llama.gguf

install: kvrisk
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/kvrisk
	install -m 755 kvrisk $(DESTDIR)$(PREFIX)/bin/kvrisk
	install -m 644 data/samples/* $(DESTDIR)$(PREFIX)/share/kvrisk/

deps:
	@tests/deps.sh $(DEPS_BUILD) $(DEPS_TEST)

clean:
	rm -rf build kvrisk

.SECONDARY: $(TRAIN)
.PHONY: all run test test-only test-units check-mem fuzz fuzzers bench benches units sample-model install deps clean
-include $(wildcard $(patsubst %.o,%.d,$(CORE) $(CLI) $(UI) $(TERM_OBJS) $(MAIN) $(TRAIN)) $(addsuffix .d,$(UNITS) $(BENCHES)))
