package media

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

const (
	readTimeout    = 10 * time.Minute
	programTimeout = 2 * time.Minute
	maxMemory      = 1 << 30
	maxOutput      = 64 << 20 // bytes that a program may write
	maxTemp        = 256 << 20
)

// A job is a program to run on a file.
type job struct {
	argv  []string
	files []string // that it may read
	stdin io.Reader
	env   []string
	time  time.Duration // 0 is programTimeout
	max   int64         // bytes of its output; 0 is maxOutput
}

var errOutput = errors.New("the program writes too much")

// run runs a program in a sandbox of its own.
func (s studio) run(ctx context.Context, out io.Writer, p job) error {
	p.time = cmp.Or(p.time, programTimeout)
	p.max = cmp.Or(p.max, maxOutput)
	return s.Programs.Run(ctx, program.Spec{
		Argv: p.argv, Read: p.files, Env: p.env, Tier: sandbox.Local, Timeout: p.time,
		Limits: sandbox.Limits{Memory: maxMemory, Processes: 256, FileSize: maxTemp, Temp: maxTemp},
	}, p.stdin, &bounded{out, p.max})
}

// bounded returns an error if more than left bytes are written.
type bounded struct {
	to   io.Writer
	left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errOutput
	}
	return b.to.Write(p)
}

// has reports whether a program is installed.
func has(name string) bool {
	_, err := program.Installed(name)
	return err == nil
}

// needs returns an error if a program is not installed. debian is the package that has it.
func (studio) needs(name, debian string) error {
	if has(name) {
		return nil
	}
	return tool.Errorf(tool.Unavailable, "this needs the program %s, which is not installed", name).
		Try("ask the operator to install it (on Debian: apt install %s)", debian)
}

// explain returns the error for a file that a program could not read.
func explain(name string, err error) error {
	var failed *program.ExitError
	switch {
	case errors.Is(err, errOutput):
		return tool.Errorf(tool.TooLarge, "%q unpacks to more than %s", name, text.Bytes(maxOutput)).
			Try("read a smaller file, or a part of it")
	case errors.As(err, &failed) && failed.Limit:
		return tool.Errorf(tool.TooLarge, "%q cannot be read: %s", name, failed.Program+": "+failed.Why).Because(err).
			Try("read a smaller file, or a part of it")
	case errors.As(err, &failed):
		return tool.Errorf(tool.Invalid, "%q cannot be read: it is damaged, or of an unknown format", name).
			Because(err).Try("get the file again, or convert it with a command")
	}
	return err
}

// ask lets a provider answer a question about files. The answer follows the content of files,
// so it is quoted.
func (s studio) ask(ctx context.Context, model, prompt string, files ...wire.File) (string, error) {
	answer, by, err := s.Providers.Describe(ctx, wire.DescriptionRequest{
		To: wire.To{Model: model}, Prompt: prompt, Files: files,
	})
	if err != nil {
		return "", err
	}
	line := "[answer of " + by.Model
	if by.Cost > 0 {
		line += fmt.Sprintf(", about %s", by.Cost)
	}
	for _, note := range by.Notes {
		line += "; " + note
	}
	return line + "]\n" + s.Marks.Quote("the answer of "+by.Model, answer), nil
}

// filled returns a command line of the operator with its placeholders replaced, and the files
// in it: the program must be able to read them. A word that consists of a placeholder without a
// value is left out, with the option before it.
func filled(argv []string, values map[string]string) (words, files []string) {
	for _, word := range argv {
		whole := strings.HasPrefix(word, "{") && strings.HasSuffix(word, "}")
		for name, value := range values {
			word = strings.ReplaceAll(word, "{"+name+"}", value)
		}
		if whole && word == "" {
			if n := len(words); n > 1 && strings.HasPrefix(words[n-1], "-") {
				words = words[:n-1]
			}
			continue
		}
		words = append(words, word)
		if _, err := os.Stat(word); err == nil && filepath.IsAbs(word) {
			files = append(files, word)
		}
	}
	return words, files
}

func programName(path string) string { return filepath.Base(path) }
