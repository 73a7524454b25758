package jsonrpc

import (
	"bufio"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// TestIDOfALongLine: the answer to a message that was too long has its id.
func TestIDOfALongLine(t *testing.T) {
	big := strings.Repeat("x", 300<<10)
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":"` + big + `"}}`:  "7",
		`{"jsonrpc":"2.0","id":"a\"b","params":{"a":"` + big + `"}}`:                   `"a\"b"`,
		`{"method":"tools/call","params":{"a":"` + big + `"},"jsonrpc":"2.0","id":12}`: "12",
		`{"method":"m","params":{"a":"` + big + `"}, "id" : "s" }`:                     `"s"`,
		`{"method":"m","params":{"a":"` + big + `","id":5}}`:                           "",
		`{"method":"m","params":{"id":5,"a":"` + big + `"}}`:                           "",
		`{"method":"m","params":{"a":"` + big + `,\"id\":5"}}`:                         "",
		`{"method":"m","params":{"a":"` + big + `"},"id":{}}`:                          "",
		`{"method":"m","id":null,"params":{"a":"` + big + `"}}`:                        "",
		`[{"id":1},"` + big + `"]`:                                                     "",
		big:                                                                            "",
	} {
		for _, size := range []int{16, 64 << 10} {
			reader := &LineReader{bufio.NewReaderSize(strings.NewReader(line+"\n{}\n"), size), 256 << 10}
			_, err := reader.Next()
			long := (*LongLine)(nil)
			if !errors.As(err, &long) {
				t.Fatalf("%.80s: %v", line, err)
			}
			if got := string(long.ID()); got != want {
				t.Errorf("%.80s: id %s, want %s", line, got, want)
			}
			if next, err := reader.Next(); err != nil || string(next) != "{}" {
				t.Errorf("%.80s: then %q, %v", line, next, err)
			}
		}
	}
}

// slowWriter writes when it may.
type slowWriter struct {
	may     chan error
	written strings.Builder
}

func (w *slowWriter) Write(b []byte) (int, error) {
	if err := <-w.may; err != nil {
		return 0, err
	}
	return w.written.Write(b)
}

// TestFlush has a message queued behind a write that does not end: it counts as written only when it is.
func TestFlush(t *testing.T) {
	for name, fault := range map[string]error{"written": nil, "broken": errors.New("broken pipe")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &slowWriter{may: make(chan error)}
				lines := NewLineWriter(w)
				go lines.Send([]byte("first"))
				synctest.Wait()
				if err := lines.Send([]byte("second")); err != nil {
					t.Fatal(err)
				}
				flushed := make(chan error, 1)
				go func() { flushed <- lines.Flush() }()
				w.may <- nil
				synctest.Wait()
				select {
				case err := <-flushed:
					t.Fatalf("%q is written and Flush returned %v", w.written.String(), err)
				default:
				}
				w.may <- fault
				if err := <-flushed; !errors.Is(err, fault) {
					t.Errorf("Flush returned %v", err)
				}
			})
		})
	}
}
