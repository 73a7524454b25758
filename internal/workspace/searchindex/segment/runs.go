package segment

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/trigram"
)

// A run is a file of lists, written when memory was full: for each trigram
// itself, the length of the list, the list.
type run struct {
	file *os.File
	in   *bufio.Reader
	raw  []byte
}

// spill writes what the builder holds to a file and begins anew.
func (b *Builder) spill() (err error) {
	file, err := createTemp(b.dir)
	if err != nil {
		return err
	}
	b.runs = append(b.runs, &run{file: file})
	out := bufio.NewWriterSize(file, 256<<10)
	for m := b.memorySource(); ; {
		t, err := m.next()
		if errors.Is(err, io.EOF) {
			break
		}
		var head [8]byte
		binary.LittleEndian.PutUint32(head[:], uint32(t))
		binary.LittleEndian.PutUint32(head[4:], uint32(len(m.raw)))
		_, err = out.Write(head[:])
		_, bodyErr := out.Write(m.raw)
		if err := errors.Join(err, bodyErr); err != nil {
			return fmt.Errorf("writing a run: %w", err)
		}
	}
	b.used, b.blocks = 0, b.blocks[:1]
	clear(b.table)
	return out.Flush()
}

// Close removes the files.
func (b *Builder) Close() error {
	var errs []error
	for _, r := range b.runs {
		errs = append(errs, r.file.Close(), os.Remove(r.file.Name()))
	}
	b.runs = nil
	return errors.Join(errs...)
}

func (r *run) rewind() error {
	_, err := r.file.Seek(0, io.SeekStart)
	r.in = bufio.NewReaderSize(r.file, 64<<10)
	return err
}

func (r *run) next() (trigram.T, error) {
	var head [8]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return 0, err
	}
	n := binary.LittleEndian.Uint32(head[4:])
	if cap(r.raw) < int(n) {
		r.raw = make([]byte, n)
	}
	r.raw = r.raw[:n]
	_, err := io.ReadFull(r.in, r.raw)
	return trigram.T(binary.LittleEndian.Uint32(head[:])), err
}

func (r *run) numbers(to []uint32) []uint32 { return appendNumbers(to, r.raw) }
