package mirror

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
)

// maxLine is the maximum length of a message.
const maxLine = 16 << 10

// A message is one line. The content of a file follows the message with its entry.
type message struct {
	Do     string  `json:",omitempty"` // a request
	Places []Place `json:",omitempty"`
	Entry  *entry  `json:",omitempty"`
	End    bool    `json:",omitempty"` // of a list
	Error  string  `json:",omitempty"`
}

// The requests.
const (
	doOpen = "open" // Places: make them
	doLook = "look" // return the entries that have changed
	doGet  = "get"  // a list of names follows: return their entries with their contents
	doPut  = "put"  // a list of entries follows: make them
)

// A stream has messages and contents of files in both directions.
type stream struct {
	in  *bufio.Reader
	out *bufio.Writer
}

func newStream(rw io.ReadWriter) *stream {
	return &stream{bufio.NewReaderSize(rw, maxLine), bufio.NewWriterSize(rw, 64<<10)}
}

func (s *stream) send(m message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(line) >= maxLine {
		return errors.New("a name is too long")
	}
	_, err = s.out.Write(append(line, '\n'))
	return err
}

func (s *stream) next() (m message, err error) {
	line, err := s.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return m, errors.New("a message is too long")
	}
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(line, &m)
}

// sendEntry sends an entry, and the content if it is a file: the other side has it then. A file that was removed is left out; one that
// becomes shorter meanwhile is filled with zeros, and has changed again.
func (s *stream) sendEntry(t *tree, e entry) error {
	i, rel, err := t.find(e.Path)
	if err != nil {
		return err
	}
	if e.Kind != file {
		t.remember(e)
		return s.send(message{Entry: &e})
	}
	f, err := t.places[i].root.Open(rel)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	e.Size = info.Size()
	if err := s.send(message{Entry: &e}); err != nil {
		return err
	}
	sum := sha256.New()
	to := io.MultiWriter(s.out, sum)
	n, err := io.CopyN(to, f, e.Size)
	if errors.Is(err, io.EOF) {
		_, err = io.CopyN(to, zeros{}, e.Size-n)
	}
	e.Digest = hex.EncodeToString(sum.Sum(nil))
	t.rememberAt(e, stampOf(info)) // as it was before, so that a change meanwhile shows
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Serve keeps the copies of a server, in the sandbox, until the connection ends.
func Serve(conn net.Conn) {
	defer conn.Close()
	s := newStream(conn)
	var t *tree
	for {
		m, err := s.next()
		if err != nil {
			return
		}
		var end message
		switch {
		case m.Do == doOpen:
			t, err = openTree(m.Places, true)
		case t == nil:
			err = errors.New("nothing is open")
		default:
			err = t.answer(s, m.Do)
		}
		if broken := (*brokenError)(nil); errors.As(err, &broken) {
			return
		}
		end.End = true
		if err != nil {
			end.Error = err.Error()
		}
		if s.send(end) != nil || s.out.Flush() != nil {
			return
		}
	}
}

// A brokenError is an error of the connection.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

func broken(err error) error {
	if err == nil {
		return nil
	}
	return &brokenError{err}
}

// answer carries out a request, without the end of the answer.
func (t *tree) answer(s *stream, do string) error {
	switch do {
	case doLook:
		all, err := t.changes(context.Background())
		for i := range all {
			if err := s.send(message{Entry: &all[i]}); err != nil {
				return broken(err)
			}
		}
		return err
	case doGet:
		return t.get(s)
	case doPut:
		return t.take(s)
	}
	return broken(fmt.Errorf("the request %q is not known", do))
}

// get sends entries with their contents. The other side has them then.
func (t *tree) get(s *stream) error {
	var names []entry
	for {
		m, err := s.next()
		if err != nil {
			return broken(err)
		}
		if m.End {
			break
		}
		if m.Entry == nil {
			return broken(errors.New("an entry is missing"))
		}
		names = append(names, *m.Entry)
	}
	for _, e := range names {
		if e.Kind == gone {
			t.remember(e)
		} else if err := s.sendEntry(t, e); err != nil {
			return broken(err)
		}
	}
	return nil
}

// take makes the entries that follow.
func (t *tree) take(s *stream) error {
	var first error
	for {
		m, err := s.next()
		if err != nil {
			return broken(err)
		}
		if m.End {
			return first
		}
		e := m.Entry
		if e == nil {
			return broken(errors.New("an entry is missing"))
		}
		content := &io.LimitedReader{R: s.in, N: e.Size}
		err = t.put(e, content)
		if _, drained := io.Copy(io.Discard, content); drained != nil {
			return broken(drained)
		}
		if err == nil || e.Kind == gone { // a directory that commands have put files into stays
			t.remember(*e)
		} else if first == nil {
			first = fmt.Errorf("%s: %w", e.Path, err)
		}
	}
}
