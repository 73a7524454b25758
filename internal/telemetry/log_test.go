package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/slogtest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

type pair struct {
	Name   string
	hidden string
}

type lazy struct{ text string }

func (l lazy) LogValue() slog.Value {
	return slog.GroupValue(slog.String("inner", l.text), slog.Any("deeper", lazier(l)))
}

type lazier struct{ text string }

func (l lazier) LogValue() slog.Value { return slog.StringValue("lazy " + l.text) }

type panicking struct{}

func (*panicking) String() string { panic("no") }

func testLogger(t testing.TB, w io.Writer, c LogConfig) *slog.Logger {
	t.Helper()
	c.Scrub = scrubSecret
	log, err := NewLogger(w, c)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestLogIsScrubbed(t *testing.T) {
	tests := map[string]func(log *slog.Logger){
		"message":        func(log *slog.Logger) { log.Info("it is " + secret()) },
		"string":         func(log *slog.Logger) { log.Info("m", "k", secret()) },
		"key":            func(log *slog.Logger) { log.Info("m", secret(), 1) },
		"error":          func(log *slog.Logger) { log.Info("m", "error", errors.New("no "+secret())) },
		"wrapped error":  func(log *slog.Logger) { log.Info("m", "error", fmt.Errorf("a: %w", errors.New(secret()))) },
		"stringer":       func(log *slog.Logger) { log.Info("m", "url", &url.URL{Scheme: "https", Host: secret()}) },
		"bytes":          func(log *slog.Logger) { log.Info("m", "k", []byte(secret())) },
		"raw JSON":       func(log *slog.Logger) { log.Info("m", "k", json.RawMessage(`"`+secret()+`"`)) },
		"struct":         func(log *slog.Logger) { log.Info("m", "k", pair{secret(), secret()}) },
		"pointer":        func(log *slog.Logger) { log.Info("m", "k", &pair{Name: secret()}) },
		"map":            func(log *slog.Logger) { log.Info("m", "k", map[string]any{secret(): []string{secret()}}) },
		"%v of a struct": func(log *slog.Logger) { log.Info(fmt.Sprintf("%v", pair{hidden: secret()})) },
		"group": func(log *slog.Logger) {
			log.Info("m", slog.Group("g", "k", secret(), slog.Group("h", "k", secret())))
		},
		"name of a group": func(log *slog.Logger) { log.WithGroup(secret()).Info("m", "k", 1) },
		"with": func(log *slog.Logger) {
			log.With("k", secret()).WithGroup("g").With("l", errors.New(secret())).Info("m")
		},
		"log valuer":      func(log *slog.Logger) { log.Info("m", "k", lazy{secret()}) },
		"slice of errors": func(log *slog.Logger) { log.Info("m", "k", []error{errors.New(secret())}) },
	}
	for _, format := range []string{Text, JSON} {
		for name, write := range tests {
			t.Run(format+"/"+name, func(t *testing.T) {
				var out bytes.Buffer
				write(testLogger(t, &out, LogConfig{Format: format}))
				if strings.Contains(out.String(), secret()) || !strings.Contains(out.String(), "[REDACTED]") {
					t.Errorf("the log is %q", out.String())
				}
			})
		}
	}
}

// TestBytesAreNotWrittenAsNumbers checks bytes within a value: written as numbers, a secret in
// them would not be found by the scrubber.
func TestBytesAreNotWrittenAsNumbers(t *testing.T) {
	key := []byte(secret())
	for name, value := range map[string]any{
		"struct": struct{ Key []byte }{key},
		"map":    map[string]any{"key": json.RawMessage(key)},
		"array":  [40]byte(key),
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			testLogger(t, &out, LogConfig{}).Info("m", "k", value)
			if strings.Contains(out.String(), "103 104 112") || !strings.Contains(out.String(), "[bytes]") {
				t.Errorf("the log is %q", out.String())
			}
		})
	}
}

// invisible reports whether a character is not printable.
func invisible(r rune) bool { return !unicode.IsPrint(r) }

// TestOneRecordIsOneLine checks that text from outside cannot look like a line of the log, nor
// move the cursor of a terminal.
func TestOneRecordIsOneLine(t *testing.T) {
	const evil = "a\nb\r\x1b[2J\x00\u202etxt\u2028\x9b\xff\u00ad\t\u0085"
	records := map[string]func(log *slog.Logger){
		"message": func(log *slog.Logger) { log.Info(evil) },
		"value":   func(log *slog.Logger) { log.Info("m", "k", evil) },
		"key":     func(log *slog.Logger) { log.Info("m", evil, 1) },
		"error":   func(log *slog.Logger) { log.Info("m", "k", errors.New(evil)) },
		"group":   func(log *slog.Logger) { log.WithGroup(evil).With(evil, evil).Info("m", slog.Group(evil, evil, evil)) },
		"struct":  func(log *slog.Logger) { log.Info("m", "k", pair{Name: evil}) },
	}
	for name, write := range records {
		t.Run(name, func(t *testing.T) {
			var text, structured bytes.Buffer
			write(testLogger(t, &text, LogConfig{Format: Text}))
			write(testLogger(t, &structured, LogConfig{Format: JSON}))
			line, ok := strings.CutSuffix(text.String(), "\n")
			if !ok || !utf8.ValidString(line) || strings.ContainsFunc(line, invisible) {
				t.Errorf("text: %q", text.String())
			}
			line, ok = strings.CutSuffix(structured.String(), "\n")
			if !ok || strings.ContainsFunc(line, invisible) || !json.Valid([]byte(line)) {
				t.Errorf("JSON: %q", structured.String())
			}
		})
	}
}

func TestTextForPeople(t *testing.T) {
	var out bytes.Buffer
	level := new(slog.LevelVar)
	log := testLogger(t, &out, LogConfig{Level: level})
	log.Debug("not shown")
	log.Info("listening", "address", "127.0.0.1:80", "sessions", 3, "empty", "", "spaced", "a b", "quoted", `say "x"`)
	log.With("a", 1).WithGroup("g").With("b", true).
		Warn("careful", slog.Group("h", "c", 1.5, "d", 2*time.Second), slog.Group("none"))
	level.Set(slog.LevelDebug)
	log.Debug("shown now", "at", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "nil", nil)
	log.Error(`a "message" with ü and \`, "", "no key", slog.Attr{}, slog.Group("", "inline", 1), "p", (*panicking)(nil))
	log.Log(t.Context(), slog.LevelInfo+2, "between")

	want := []string{
		`INFO  listening address=127.0.0.1:80 sessions=3 empty="" spaced="a b" quoted="say \"x\""`,
		`WARN  careful a=1 g.b=true g.h.c=1.5 g.h.d=2s`,
		`DEBUG shown now at=2026-01-02T03:04:05Z nil=<nil>`,
		`ERROR a "message" with ü and \ ""="no key" inline=1 p=<nil>`,
		`INFO+2 between`,
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if !regexp.MustCompile(`^\d\d:\d\d:\d\d `).MatchString(line) {
			t.Errorf("no time in %q", line)
		}
		got = append(got, strings.TrimSuffix(line[9:], "\n"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestColours(t *testing.T) {
	var out bytes.Buffer
	log := testLogger(t, &out, LogConfig{Colour: true, Level: slog.LevelDebug})
	log.Debug("m")
	log.Info("m")
	log.Warn("m")
	log.Error("m", "k", "\x1b[31m")
	got := regexp.MustCompile(`\d\d:\d\d:\d\d`).ReplaceAllString(out.String(), "TIME")
	want := "\x1b[2mTIME\x1b[0m \x1b[2mDEBUG\x1b[0m m\n" +
		"\x1b[2mTIME\x1b[0m \x1b[36mINFO \x1b[0m m\n" +
		"\x1b[2mTIME\x1b[0m \x1b[33mWARN \x1b[0m m\n" +
		"\x1b[2mTIME\x1b[0m \x1b[31mERROR\x1b[0m m \x1b[2mk=\x1b[0m\"\\x1b[31m\"\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestJSONForPrograms(t *testing.T) {
	var out bytes.Buffer
	log := testLogger(t, &out, LogConfig{Format: JSON})
	log.Debug("not shown")
	log.Warn("a \"message\"", "n", 3, "d", time.Second, slog.Group("g", "error", errors.New("line\nbreak")))
	line := regexp.MustCompile(`"time":"[^"]+"`).ReplaceAllString(out.String(), `"time":"T"`)
	want := `{"time":"T","level":"WARN","msg":"a \"message\"","n":3,"d":1000000000,"g":{"error":"line\nbreak"}}` + "\n"
	if line != want {
		t.Errorf("got  %s want %s", line, want)
	}
}

func TestUnknownFormat(t *testing.T) {
	_, err := NewLogger(io.Discard, LogConfig{Format: "xml"})
	if err == nil || !strings.Contains(err.Error(), `unknown log format "xml"`) {
		t.Errorf("error is %v", err)
	}
}

func TestHandlersFollowSlogRules(t *testing.T) {
	for format, parse := range map[string]func(string) map[string]any{
		JSON: func(line string) (m map[string]any) {
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			return m
		},
		Text: parseText,
	} {
		t.Run(format, func(t *testing.T) {
			var out bytes.Buffer
			slogtest.Run(t, func(t *testing.T) slog.Handler {
				out.Reset()
				return testLogger(t, &out, LogConfig{Format: format}).Handler()
			}, func(*testing.T) map[string]any { return parse(strings.TrimSpace(out.String())) })
		})
	}
}

// parseText parses a line of the text format. Its values must have no spaces.
func parseText(line string) map[string]any {
	m := map[string]any{}
	words := strings.Fields(line)
	if strings.Contains(words[0], ":") {
		m[slog.TimeKey], words = words[0], words[1:]
	}
	m[slog.LevelKey], m[slog.MessageKey] = words[0], words[1]
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, "=")
		into, path := m, strings.Split(name, ".")
		for _, group := range path[:len(path)-1] {
			inner, _ := into[group].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
			}
			into[group] = inner
			into = inner
		}
		into[path[len(path)-1]] = value
	}
	return m
}

func TestConcurrentLogging(t *testing.T) {
	for format, pattern := range map[string]string{
		Text: `^[0-9:]{8} INFO  m goroutine=(\d+) n=(\d+) error="a b"\n$`,
		JSON: `^\{"time":"[^"]+","level":"INFO","msg":"m","goroutine":(\d+),"n":(\d+),"error":"a b"\}\n$`,
	} {
		t.Run(format, func(t *testing.T) {
			var out bytes.Buffer
			log := testLogger(t, &out, LogConfig{Format: format})
			var wg sync.WaitGroup
			const goroutines, each = 8, 100
			for i := range goroutines {
				wg.Go(func() {
					log := log.With("goroutine", i)
					for j := range each {
						log.Info("m", "n", j, "error", errors.New("a b"))
					}
				})
			}
			wg.Wait()
			line, seen := regexp.MustCompile(pattern), map[string]bool{}
			for got := range strings.Lines(out.String()) {
				parts := line.FindStringSubmatch(got)
				if parts == nil {
					t.Fatalf("a broken line: %q", got)
				}
				seen[parts[1]+" "+parts[2]] = true
			}
			if len(seen) != goroutines*each {
				t.Errorf("%d different records, want %d", len(seen), goroutines*each)
			}
		})
	}
}

func FuzzPrintable(f *testing.F) {
	for _, seed := range []string{"plain", "a\nb", "\xff\xfe", "\x1b[0m", "\u202e", "�", `\`, `"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := string(appendPrintable(nil, text))
		if strings.ContainsFunc(got, func(r rune) bool { return !strconv.IsPrint(r) }) || !utf8.ValidString(got) {
			t.Errorf("%q became %q", text, got)
		}
		if printable(text) != (got == text) {
			t.Errorf("%q is printable: %t, but became %q", text, printable(text), got)
		}
		if again := escapeControls(escapeControls(text)); again != escapeControls(text) || !utf8.ValidString(again) {
			t.Errorf("%q is tamed to %q", text, again)
		}
		if word := quoted(text); word != text {
			if back, err := strconv.Unquote(word); err != nil || back != text {
				t.Errorf("%q is quoted as %s", text, word)
			}
		}
	})
}
