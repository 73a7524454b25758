package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
)

const (
	blockSize = 128 << 10
	maxLine   = 64 << 20
)

// A Each is a record with what became of the change.
type LoggedChange struct {
	Record
	Undone string // the change that took it back and is still in force
}

// appendRecord writes one record in one piece. The catalogue is locked. The caller
// syncs and closes the file.
func (s *Store) appendRecord(r Record) (*os.File, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	book, err := os.OpenFile(s.path(catalogueName), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := book.Stat()
	if err != nil {
		return nil, errors.Join(err, book.Close())
	}
	if size := info.Size(); size > 0 {
		var last [1]byte
		if _, err := book.ReadAt(last[:], size-1); err != nil {
			return nil, errors.Join(err, book.Close())
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...) // somebody died here
		}
	}
	if _, err := book.Write(append(line, '\n')); err != nil {
		return nil, errors.Join(err, book.Truncate(info.Size()), book.Close())
	}
	return book, nil
}

// Each calls each with all records, the latest first, until it returns false.
// When hint is not "", records in which no name and no id ends in hint may be
// left out.
func (s *Store) Each(ctx context.Context, hint string, each func(LoggedChange) bool) error {
	var needle []byte
	if quoted, err := json.Marshal(hint); err == nil && hint != "" {
		needle = quoted[1:] // with the quote at its end
	}
	undone := map[string]string{}
	return s.eachLineBackward(ctx, func(line []byte) bool {
		if needle != nil && !bytes.Contains(line, needle) && !bytes.Contains(line, []byte(`"undoes":`)) {
			return true
		}
		var r Record
		if json.Unmarshal(line, &r) != nil || r.ID == "" {
			return true
		}
		p := LoggedChange{Record: r, Undone: undone[r.ID]}
		if r.Undoes != "" && p.Undone == "" {
			undone[r.Undoes] = r.ID
		}
		return each(p)
	})
}

// Find returns the record of a change. It is not ok when there is none.
func (s *Store) Find(ctx context.Context, id string) (found LoggedChange, ok bool, err error) {
	err = s.Each(ctx, id, func(p LoggedChange) bool {
		if p.ID == id {
			found, ok = p, true
		}
		return !ok
	})
	return found, ok, err
}

// eachLineBackward calls each with all lines of the catalogue, the last one first.
func (s *Store) eachLineBackward(ctx context.Context, each func(line []byte) bool) error {
	book, err := os.Open(s.path(catalogueName))
	if notExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer book.Close()
	end, err := book.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	var rest []byte // the end of a line whose beginning is further ahead
	for end > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(end, max(blockSize, int64(len(rest)))) // twice as much for a long line
		block := make([]byte, n, n+int64(len(rest)))
		if _, err := book.ReadAt(block, end-n); err != nil && err != io.EOF {
			return err
		}
		end -= n
		block = append(block, rest...)
		for {
			i := bytes.LastIndexByte(block, '\n')
			if i < 0 {
				break
			}
			if line := block[i+1:]; len(line) > 0 && !each(line) {
				return nil
			}
			block = block[:i]
		}
		if rest = block; len(rest) > maxLine {
			return errors.New("the history of files holds a line without an end")
		}
	}
	if len(rest) > 0 {
		each(rest)
	}
	return nil
}
