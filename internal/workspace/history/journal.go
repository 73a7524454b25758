package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
)

const (
	maxAttempts = 8        // to find an unused name
	maxJournal  = 64 << 20 // bytes of a journal to read
)

// A journal is a file that describes the next steps of a change, for recovery if the
// process is killed. It is locked as long as a process works on the change. An
// incomplete line at its end is ignored.
type journal struct {
	s    *Store
	id   string
	file *os.File
}

// An entry is a line of a journal. One of its fields is set.
type entry struct {
	Shards   []int   `json:"shards,omitempty"`   // the locks of all files; the first line
	Step     *step   `json:"step,omitempty"`     // the step to stage next
	Copies   int     `json:"copies,omitempty"`   // the number of copies, including the next one
	Prepared []*step `json:"prepared,omitempty"` // all steps are staged, and may be applied from now on
}

// newJournal creates a journal with a new name.
func (s *Store) newJournal(shards []int) (*journal, error) {
	for range maxAttempts {
		j := &journal{s: s, id: token(8)}
		s.claim(j.id)
		ok, err := j.create()
		if ok {
			err = j.write(entry{Shards: shards})
		}
		if ok && err == nil {
			return j, nil
		}
		j.close(ok)
		if err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
	}
	return nil, errors.New("no name for a pending change is free")
}

// create creates the file. ok is false if a recovering process has locked it first.
func (j *journal) create() (ok bool, err error) {
	j.file, err = os.OpenFile(j.path(), os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return false, err
	}
	taken, err := tryLock(j.file)
	return taken && err == nil && isLinked(j.file, j.path()), err
}

func (j *journal) path() string { return j.s.path(pendingDir, j.id) }

func (j *journal) write(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	return err
}

// close closes the journal. If it is not removed, another process recovers the change.
func (j *journal) close(remove bool) {
	if remove {
		remove = os.Remove(j.path()) != nil
	}
	if j.file != nil {
		_ = j.file.Close()
	}
	if remove {
		_ = os.Remove(j.path()) // Windows cannot remove an open file
	}
	j.s.release(j.id)
}

// isLinked reports whether path still names file.
func isLinked(file *os.File, path string) bool {
	there, err := os.Stat(path)
	if err != nil {
		return false
	}
	here, err := file.Stat()
	return err == nil && os.SameFile(here, there)
}

// A plan is the content of a journal.
type plan struct {
	shards   []int
	steps    []*step
	copies   int
	prepared bool
}

func readPlan(file *os.File) (plan, error) {
	var p plan
	lines := bufio.NewReader(io.NewSectionReader(file, 0, maxJournal))
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return p, err
		}
		var e entry
		if json.Unmarshal(line, &e) != nil {
			continue // an incomplete line: nothing was done after it
		}
		p.add(e)
	}
}

func (p *plan) add(e entry) {
	p.shards = append(p.shards, e.Shards...)
	if e.Step != nil {
		p.steps = append(p.steps, e.Step)
	}
	if e.Prepared != nil {
		p.steps = slices.DeleteFunc(e.Prepared, func(s *step) bool { return s == nil })
		p.prepared = true
	}
	p.copies = max(p.copies, e.Copies)
}

func (p *plan) touches(shards []int) bool {
	return slices.ContainsFunc(p.shards, func(n int) bool { return slices.Contains(shards, n) })
}
