package document

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/child"
)

// ChildArg is the argument that makes this program a process that reads documents.
const ChildArg = "document-reader"

// memory is the limit of one process and of the programs that it starts, in bytes.
const memory = 512 << 20

// maxMade is the maximum size of a document that is made, in bytes: with its code in JSON it fits an answer.
const maxMade = 64 << 20

// maxStack ends a reader that calls itself without end long before it uses up the memory.
const maxStack = 64 << 20

// An order is the order for the process: a line of JSON on its stdin. The document follows.
type order struct {
	Source
	Members []string // the names after each !/ of a path
	Make    Format   // the format to make of the source; empty to read it
	Temp    string   // a directory for temporary files; empty for the home directory
	Time    time.Duration
}

// A reply is the answer of the process, as JSON on its stdout.
type reply struct {
	Document *Document
	Written  *Written
	Format   Format
	Kind     Kind   // of the error
	Error    string // a sentence for the model
}

// Main is the main function of the process; args come after ChildArg. It returns the exit code.
func Main(args []string, all Formats) int {
	debug.SetMaxStack(maxStack)
	if len(args) == 2 && args[0] == prepareArg {
		if err := all.prepare(context.Background(), args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	err := child.Limit(memory)
	var r reply
	if err == nil {
		r, err = serve(in, all)
	}
	if err != nil {
		r = reply{Error: err.Error()}
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return 1
	}
	endGroup() // files that a program left behind
	return 0
}

// serve reads the order and the document, and carries the order out.
func serve(in *bufio.Reader, all Formats) (reply, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return reply{}, fmt.Errorf("reading the order: %w", err)
	}
	var o order
	if err := json.Unmarshal(line, &o); err != nil {
		return reply{}, fmt.Errorf("reading the order: %w", err)
	}
	if o.Temp == "" {
		o.Temp = os.Getenv("HOME")
	}
	for _, v := range []string{
		"HOME=" + o.Temp, "TMPDIR=" + o.Temp, "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "OMP_THREAD_LIMIT=1",
	} {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			return reply{}, err
		}
	}
	file, err := os.CreateTemp(o.Temp, "document-*")
	if err != nil {
		return reply{}, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := io.CopyN(file, in, o.Size); err != nil {
		return reply{}, fmt.Errorf("receiving the document: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.Time)
	defer cancel()
	go func() {
		// The server keeps stdin open. If it ends, so does this process.
		_, _ = in.Read(make([]byte, 1))
		cancel()
		endGroup()
		os.Exit(1)
	}()
	go watch(ctx, o.Temp, memory, func() {
		_ = json.NewEncoder(os.Stdout).Encode(reply{Kind: ErrTooBig, Error: tooMuchMemory})
		endGroup()
		os.Exit(1)
	})
	return carryOut(ctx, o, file, all), nil
}

const readerFailed = "the reader of this format failed; this is a fault of mcp-tools, and the file may be sound. " +
	"Ask for other pages, or convert the file"

const tooMuchMemory = "reading it takes more than 512 MB of memory, so it was stopped; ask for fewer pages"

// carryOut reads the document. A fault of a reader is an error like any other.
func carryOut(ctx context.Context, o order, file *os.File, all Formats) (r reply) {
	fail := func(err error) reply {
		switch known, ok := errors.AsType[*Error](err); {
		case ok:
			return reply{Format: r.Format, Kind: known.Kind, Error: known.Text}
		case ctx.Err() != nil:
			return reply{Format: r.Format, Kind: ErrTooBig, Error: fmt.Sprintf(
				"reading it takes more than %s, so it was stopped; ask for fewer pages", o.Time)}
		}
		return reply{Format: r.Format, Kind: ErrBroken, Error: "the file is damaged: " + err.Error()}
	}
	defer func() {
		if cause := recover(); cause != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", cause, debug.Stack())
			r = reply{Format: r.Format, Kind: ErrFailed, Error: readerFailed}
		}
	}()
	o.Data = file
	if o.Make != Unknown {
		made, err := all.Of(o.Make).Write(ctx, o.Source)
		if err != nil {
			return fail(err)
		}
		if made != nil && len(made.Content) > maxMade {
			return fail(Errorf(ErrTooBig, "the document would have more than %d MB", maxMade>>20))
		}
		return reply{Written: made}
	}
	w := walk{formats: all}
	d, err := w.read(ctx, o.Source, o.Members)
	r.Format = w.format
	if err != nil {
		return fail(err)
	}
	r.Document = d
	return r
}
