package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/terminal"

	"golang.org/x/sys/unix"
)

// pseudoTerminal returns a terminal and the end at which a person would sit.
func pseudoTerminal(t *testing.T) (terminal, person *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		needtest.Lacking(t, "terminal", "there are no terminals here: "+err.Error())
	}
	t.Cleanup(func() { _ = person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		needtest.Lacking(t, "terminal", "there are no terminals here: "+err.Error())
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return terminal, person
}

// typed returns the output of a terminal while a person types a line.
func typed(t *testing.T, person *os.File, line string) string {
	t.Helper()
	if _, err := person.WriteString(line + "\n"); err != nil {
		t.Fatal(err)
	}
	var seen []byte
	for !bytes.HasSuffix(seen, []byte("\n")) {
		buf := make([]byte, 64)
		n, err := person.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, buf[:n]...)
	}
	return string(seen)
}

func TestTypingIsHidden(t *testing.T) {
	tty, person := pseudoTerminal(t)
	show, err := terminal.HideTyping(tty)
	if err != nil {
		t.Fatal(err)
	}
	if seen := typed(t, person, "opensesame"); seen != "\r\n" {
		t.Errorf("the terminal shows %q", seen)
	}
	if err := show(); err != nil {
		t.Fatal(err)
	}
	if seen := typed(t, person, "hello"); seen != "hello\r\n" {
		t.Errorf("afterwards the terminal shows %q", seen)
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := terminal.HideTyping(file); err == nil {
		t.Error("a file is a terminal")
	}
}

// A typist answers the question for a secret when it is asked: from then on
// nothing is shown.
type typist struct {
	text   strings.Builder
	answer func()
}

func (a *typist) Write(text []byte) (int, error) {
	a.answer()
	return a.text.Write(text)
}

func TestSecretFromTerminal(t *testing.T) {
	for name, c := range map[string]struct{ line, want, err string }{
		"some":     {"opensesame-77", "opensesame-77", ""},
		"blanks":   {" open sesame ", " open sesame ", ""},
		"nothing":  {"", "", ""},
		"too long": {strings.Repeat("x", 5000), "", "at most 4094 bytes in a line; use a pipe or --from-file"},
	} {
		t.Run(name, func(t *testing.T) {
			tty, person := pseudoTerminal(t)
			screen := &typist{answer: func() {
				// In pieces: a terminal with a full line drops the rest, but
				// its end takes only so much at once.
				for line := c.line + "\n"; line != ""; {
					n := min(len(line), 512)
					if _, err := person.WriteString(line[:n]); err != nil {
						t.Error(err)
					}
					line = line[n:]
				}
			}}
			got, err := New(app.Env{In: tty, Err: screen}).secretValue(t.Context(), "deploy", "")
			if string(got) != c.want || (err == nil) != (c.err == "") || err != nil &&
				!strings.Contains(err.Error(), c.err) {
				t.Errorf("the secret is %q, %v", got, err)
			}
			if !strings.Contains(screen.text.String(), "The secret deploy (what you type is not shown): ") {
				t.Errorf("the question is %q", screen.text.String())
			}
		})
	}
}

func TestTypingASecretIsCancelled(t *testing.T) {
	tty, person := pseudoTerminal(t)
	ctx, cancel := context.WithCancel(t.Context())
	a := New(app.Env{In: tty, Err: &typist{answer: cancel}})
	if _, err := a.secretValue(ctx, "deploy", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if seen := typed(t, person, "hello"); seen != "hello\r\n" {
		t.Errorf("afterwards the terminal shows %q", seen)
	}
}
