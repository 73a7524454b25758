package jsonrpc

import (
	"bufio"
	"errors"
	"strings"
	"testing"
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
