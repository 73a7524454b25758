// Package mirror keeps copies of directories in sandboxes on machines that have none of the files of this one. Before
// a command starts the server sends the changes made here; after it has ended the server fetches the changes made by
// the command. Files are compared by digest.
//
// Both sides have a tree: the names, and the last state known to the other side. A [Mirror] is the server's side,
// [Serve] runs in the sandbox. They talk over one connection, in lines of JSON with contents of files in between. The
// server trusts nothing that comes back: names stay within their places, links are not followed, and hidden and
// locked names are left alone.
//
// If a file was changed on both sides since they were last the same, this side keeps its version, and the command's
// version is put beside it.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// silence is how long the other side may say nothing.
	silence = 2 * time.Minute
	// maxList is the maximum length of a list from the sandbox.
	maxList = 64 << 20
	// maxNotes is the maximum number of notes about single files.
	maxNotes = 10
	// beside is added to the name of a file from the sandbox when the file here was changed too.
	beside = ".from-sandbox"
)

// A Copy is a place here and in the sandbox.
type Copy struct {
	Here, There string // absolute paths
	Write       bool
}

// ErrClosed means that the mirror was closed.
var ErrClosed = errors.New("the copies were closed")

// ErrMissing means that a directory here was removed. The changes of commands wait in the sandbox until it is back.
var ErrMissing = errors.New("the directory of the workspace was removed, so nothing is copied")

// Options are the directories that a Mirror copies, and the connection to the sandbox.
type Options struct {
	Copies []Copy
	Hidden []string // paths here that commands must not see
	Locked []string // paths here that commands must not change
	Dial   func(context.Context) (net.Conn, error)
}

// A Mirror is the server's side of the copies of one sandbox.
type Mirror struct {
	o    Options
	turn chan struct{} // a semaphore for the fields below
	here *tree
	conn net.Conn
	s    *stream
	err  error // why it does not work any more
}

// New returns a mirror. Nothing is copied yet.
func New(o Options) *Mirror { return &Mirror{o: o, turn: make(chan struct{}, 1)} }

// Send fetches the changes made by commands, and sends the changes made here. The notes are for the user of the next
// command.
func (m *Mirror) Send(ctx context.Context) (notes []string, err error) {
	return m.do(ctx, func() ([]string, error) {
		var notes []string
		if m.conn == nil {
			if err := m.open(ctx); err != nil {
				return nil, err
			}
		} else {
			var err error
			if err = m.here.follow(); err != nil {
				return nil, err
			}
			if notes, err = m.fetch(); err != nil {
				return notes, err
			}
		}
		return notes, m.send()
	})
}

// Fetch fetches the changes made by commands. Before the first Send there are none.
func (m *Mirror) Fetch(ctx context.Context) (notes []string, err error) {
	return m.do(ctx, func() ([]string, error) {
		if m.s == nil {
			return nil, nil
		}
		if err := m.here.follow(); err != nil {
			return nil, err
		}
		return m.fetch()
	})
}

// do calls what in its turn. The call goes on when ctx ends: otherwise neither side would know the state of the
// other.
func (m *Mirror) do(ctx context.Context, what func() ([]string, error)) (notes []string, err error) {
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	done := make(chan struct{})
	go func() {
		defer func() { <-m.turn; close(done) }()
		if err = m.err; err != nil {
			return
		}
		if notes, err = what(); err != nil && !errors.Is(err, ErrMissing) {
			err = errors.New(plain(err))
			if m.conn != nil {
				m.err = err
				m.conn.Close()
			}
		}
	}()
	select {
	case <-done:
		return notes, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close closes the files here. The connection ends with the sandbox.
func (m *Mirror) Close() {
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	if m.here != nil {
		_ = m.here.close() // they were read, or written and closed
	}
	m.err = ErrClosed
}

// open connects, and makes the places.
func (m *Mirror) open(ctx context.Context) error {
	var here, there []Place
	for _, c := range m.o.Copies {
		info, err := os.Stat(c.Here)
		if err != nil {
			return err
		}
		here = append(here, Place{c.Here, !info.IsDir(), c.Write})
		there = append(there, Place{c.There, !info.IsDir(), c.Write})
	}
	tree, err := openTree(here, false)
	if err != nil {
		return err
	}
	tree.all, tree.leave = true, m.leave
	conn, err := m.o.Dial(ctx)
	if err != nil {
		return errors.Join(err, tree.close())
	}
	m.here, m.conn, m.s = tree, conn, newStream(patient{conn})
	if err := m.s.send(message{Do: doOpen, Places: there}); err != nil {
		return err
	}
	_, err = m.finish()
	return err
}

// patient limits the silence of a connection.
type patient struct{ net.Conn }

func (p patient) Read(b []byte) (int, error) {
	if err := p.SetDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

func (p patient) Write(b []byte) (int, error) {
	if err := p.SetDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}

// leave returns why a name is left alone.
func (m *Mirror) leave(place int, rel string) reason {
	at := m.o.Copies[place].Here
	if rel != "." && !m.here.places[place].File {
		at = filepath.Join(at, filepath.FromSlash(rel))
	}
	for _, p := range m.o.Hidden {
		if within(p, at) {
			return hidden
		}
	}
	for _, p := range m.o.Locked {
		if within(p, at) {
			return locked
		}
	}
	return none
}

func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// finish sends the buffered bytes, and reads the answer up to its end.
func (m *Mirror) finish() (list []entry, err error) {
	if err := m.s.out.Flush(); err != nil {
		return nil, err
	}
	size := 0
	for {
		answer, err := m.s.next()
		switch {
		case err != nil:
			return nil, err
		case answer.End && answer.Error != "":
			return list, fmt.Errorf("the sandbox says: %s", answer.Error)
		case answer.End:
			return list, nil
		case answer.Entry == nil:
			return nil, errors.New("the sandbox sent no entry")
		}
		if size += len(answer.Entry.Path) + len(answer.Entry.Link) + 100; size > maxList || len(list) >= maxFiles {
			return nil, errors.New("commands have changed too many files")
		}
		list = append(list, *answer.Entry)
	}
}

// send sends the changes made here.
func (m *Mirror) send() error {
	list, err := m.here.changes(context.Background())
	if err != nil || len(list) == 0 {
		return err
	}
	var size int64
	for _, e := range list {
		size += e.Size
	}
	if size > maxBytes {
		return fmt.Errorf("the files of the workspace have %d MiB, and at most %d MiB are copied to a sandbox", size>>20, maxBytes>>20)
	}
	if err := m.s.send(message{Do: doPut}); err != nil {
		return err
	}
	for _, e := range list {
		if err := m.s.sendEntry(m.here, e); err != nil {
			return err
		}
	}
	if err := m.s.send(message{End: true}); err != nil {
		return err
	}
	_, err = m.finish()
	return err
}

// fetch fetches the changes made by commands.
func (m *Mirror) fetch() (notes []string, err error) {
	if err := m.s.send(message{Do: doLook}); err != nil {
		return nil, err
	}
	list, err := m.finish()
	if err != nil || len(list) == 0 {
		return nil, err
	}
	var size int64
	for _, e := range list {
		if e.Size < 0 {
			return nil, errors.New("the sandbox sent a negative size")
		}
		if size += e.Size; size > maxBytes {
			return nil, fmt.Errorf("commands have written more than %d MiB", maxBytes>>20)
		}
	}
	if err := m.s.send(message{Do: doGet}); err != nil {
		return nil, err
	}
	for _, e := range list {
		if err := m.s.send(message{Entry: &e}); err != nil {
			return nil, err
		}
	}
	if err := m.s.send(message{End: true}); err != nil {
		return nil, err
	}
	if err := m.s.out.Flush(); err != nil {
		return nil, err
	}
	left := 0
	note := func(text string) {
		if text == "" {
			return
		}
		if len(notes) < maxNotes {
			notes = append(notes, text)
		} else {
			left++
		}
	}
	asked := map[string]bool{}
	for _, e := range list {
		if e.Kind == gone {
			note(m.take(e, nil))
		} else {
			asked[e.Path] = true
		}
	}
	for {
		answer, err := m.s.next()
		switch {
		case err != nil:
			return notes, err
		case answer.End && answer.Error != "":
			return notes, fmt.Errorf("the sandbox says: %s", answer.Error)
		case answer.End:
			if left > 0 {
				notes = append(notes, fmt.Sprintf("and %d more such files", left))
			}
			return notes, nil
		case answer.Entry == nil || !asked[answer.Entry.Path] || answer.Entry.Size < 0:
			return notes, errors.New("the sandbox sent an entry that was not asked for")
		}
		delete(asked, answer.Entry.Path)
		if answer.Entry.Kind == file {
			size -= answer.Entry.Size
			if size < -maxBytes {
				return notes, fmt.Errorf("commands have written more than %d MiB", maxBytes>>20)
			}
		}
		content := &io.LimitedReader{R: m.s.in, N: answer.Entry.Size}
		note(m.take(*answer.Entry, content))
		if _, err := io.Copy(io.Discard, content); err != nil {
			return notes, err
		}
	}
}

// take makes an entry of the sandbox here, and returns a note if it could not.
func (m *Mirror) take(e entry, content io.Reader) (note string) {
	i, rel, err := m.here.find(e.Path)
	if err != nil || !m.here.places[i].Write {
		return "a file outside the workspace was not written back"
	}
	shown := rel
	if i > 0 {
		shown = filepath.Base(m.o.Copies[i].Here) + "/" + rel
	}
	if m.leave(i, rel) != none {
		m.here.forget(e)
		return fmt.Sprintf("%s is protected: its change was not written back", shown)
	}
	now, err := m.here.look(i, rel, e.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("%s could not be written back", shown)
	}
	was, known := m.here.known[e.Path]
	switch {
	case now.Kind == gone || known && now.same(was.entry) || now.Kind == dir && e.Kind == dir:
	case e.Kind == gone || now.same(e):
		m.here.remember(e) // the version of this side stays, and is sent again
		return ""
	default:
		aside := e
		aside.Path += beside
		m.here.forget(e)
		if err := m.here.put(&aside, content); err != nil {
			return fmt.Sprintf("%s was changed here too; the command's version could not be stored beside it", shown)
		}
		return fmt.Sprintf("%s was changed here too, and stays; the command's version is in %s", shown, shown+beside)
	}
	if err := m.here.put(&e, content); err != nil {
		if e.Kind == gone {
			m.here.forget(e) // a directory with files that the sandbox does not have
			return ""
		}
		m.here.forget(e)
		return fmt.Sprintf("%s could not be written back: %s", shown, plain(err))
	}
	m.here.remember(e)
	return ""
}

// plain returns an error without paths of this machine.
func plain(err error) string {
	if of := (*os.PathError)(nil); errors.As(err, &of) {
		return of.Err.Error()
	}
	if of := (*os.LinkError)(nil); errors.As(err, &of) {
		return of.Err.Error()
	}
	return err.Error()
}
