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
	maxAttempts = 8        // to find a name that nobody has
	maxJournal  = 64 << 20 // bytes of a pending file that are read
)

// A journal is the file that tells what a change is about to do, for whoever
// has to clear up after a death. It is locked as long as somebody lives who
// does so. A line that was not finished does not count.
type journal struct {
	s    *Store
	id   string
	file *os.File
}

// An entry is a line of a journal; one of its parts is set.
type entry struct {
	Shards []int     `json:"shards,omitempty"` // the locks of all files; the first line
	Step   *step     `json:"step,omitempty"`   // what will be staged next
	Copies int       `json:"copies,omitempty"` // how many copies are made, with the next one
	Mark   *prepared `json:"mark,omitempty"`   // all is staged: from here on it goes forward
	Done   bool      `json:"done,omitempty"`   // the files that are not on the disk are changed, too
	Back   bool      `json:"back,omitempty"`   // it goes back after all
}

type prepared struct {
	Steps  []*step `json:"steps"`
	Record Record  `json:"record"`
}

// newJournal begins a journal under a name of its own.
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

// create makes the file. It is not ok when somebody else, who clears up, was
// faster to lock it.
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

// close ends the journal. What is not removed is left for others to act on.
func (j *journal) close(remove bool) {
	if remove {
		remove = os.Remove(j.path()) != nil
	}
	if j.file != nil {
		_ = j.file.Close()
	}
	if remove {
		_ = os.Remove(j.path()) // some systems keep what is open
	}
	j.s.release(j.id)
}

// isLinked reports whether path still leads to file.
func isLinked(file *os.File, path string) bool {
	there, err := os.Stat(path)
	if err != nil {
		return false
	}
	here, err := file.Stat()
	return err == nil && os.SameFile(here, there)
}

// A plan is what a journal says.
type plan struct {
	shards   []int
	steps    []*step
	copies   int
	prepared bool
	record   Record
	done     bool
	back     bool
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
			continue // it was cut short by a full disk, and nothing was done about it
		}
		p.add(e)
	}
}

func (p *plan) add(e entry) {
	p.shards = append(p.shards, e.Shards...)
	if e.Step != nil {
		p.steps = append(p.steps, e.Step)
	}
	if e.Mark != nil {
		p.steps = slices.DeleteFunc(e.Mark.Steps, func(s *step) bool { return s == nil })
		p.record, p.prepared = e.Mark.Record, true
	}
	p.copies = max(p.copies, e.Copies)
	p.done = p.done || e.Done
	p.back = p.back || e.Back
}

// shouldFinish reports whether the change is to be finished rather than taken back.
func (p *plan) shouldFinish() bool {
	away := slices.ContainsFunc(p.record.Files, func(f FileRecord) bool { return f.External })
	return p.prepared && !p.back && (p.done || !away)
}

func (p *plan) touches(shards []int) bool {
	return slices.ContainsFunc(p.shards, func(n int) bool { return slices.Contains(shards, n) })
}
