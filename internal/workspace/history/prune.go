package history

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"
)

const (
	pruneEveryChanges = 1000      // changes between two checks of the limits
	pruneShare        = 16        // the limits are also checked after adding this part of Limits.Bytes
	pruneEvery        = time.Hour // between checks at start
	rewriteShare      = 10        // the catalogue is rewritten if this part of its records is too old
)

// pruneIfDue checks the limits from time to time.
func (s *Store) pruneIfDue(ctx context.Context, r Record) {
	s.mu.Lock()
	s.count++
	for _, f := range r.Files {
		if f.Before != nil && f.Before.Kept {
			s.added += f.Before.Size
		}
	}
	due := s.count >= pruneEveryChanges || s.added > s.limits.Bytes/pruneShare
	if due {
		s.count, s.added = 0, 0
	}
	s.mu.Unlock()
	if !due {
		return
	}
	if err := s.prune(ctx, time.Now()); err != nil {
		s.log.Warn("old history of files could not be removed", "err", err)
	}
}

// pruneNow checks the limits, unless a process did so within the last hour.
func (s *Store) pruneNow(ctx context.Context) error {
	if info, err := os.Stat(s.path(prunedName)); err == nil && time.Since(info.ModTime()) < pruneEvery {
		return nil
	}
	if _, err := os.Stat(s.path(catalogueName)); notExist(err) {
		return nil
	}
	return s.prune(ctx, time.Now())
}

// prune removes records that are too old or too many. It also removes copies that no
// record needs, and the oldest copies beyond the limit.
func (s *Store) prune(ctx context.Context, now time.Time) error {
	if err := s.prepare(); err != nil {
		return err
	}
	unlock, err := s.lockCatalogue(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	recs, size, err := s.summaries()
	if err != nil {
		return err
	}
	first := max(0, len(recs)-s.limits.Records)
	for first < len(recs) && now.Sub(recs[first].Time) > s.limits.Age {
		first++
	}
	if err := s.removeCopiesExcept(needed(recs[first:], s.limits.Bytes)); err != nil {
		return err
	}
	if first > 0 && first*rewriteShare >= len(recs) {
		from := size
		if first < len(recs) {
			from = recs[first].at
		}
		if err := s.trimCatalogue(from); err != nil {
			return err
		}
		if err := s.trimPublished(from); err != nil {
			return err
		}
	}
	if s.shared != nil {
		if err := s.shared.prune(ctx); err != nil {
			return err
		}
	}
	return os.WriteFile(s.path(prunedName), nil, 0o600)
}

// A summary is the part of a record that prune needs.
type summary struct {
	at    int64 // where its line begins
	Time  time.Time
	Files []struct{ Before *Content }
}

// summaries reads the whole catalogue.
func (s *Store) summaries() (recs []summary, size int64, err error) {
	book, err := os.Open(s.path(catalogueName))
	if notExist(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer book.Close()
	lines := bufio.NewReaderSize(book, bufferSize)
	for {
		line, err := lines.ReadBytes('\n')
		if rec := (summary{at: size}); json.Unmarshal(line, &rec) == nil {
			recs = append(recs, rec)
		}
		size += int64(len(line))
		if err == io.EOF {
			return recs, size, nil
		}
		if err != nil {
			return nil, 0, err
		}
	}
}

// needed returns the digests of the copies to keep: the latest, up to max bytes.
func needed(recs []summary, max int64) map[string]bool {
	stay := map[string]bool{}
	var total int64
	for i := len(recs) - 1; i >= 0; i-- {
		for _, f := range recs[i].Files {
			if f.Before == nil || !f.Before.Kept || stay[f.Before.Digest] {
				continue
			}
			if total += f.Before.Size; total > max {
				return stay
			}
			stay[f.Before.Digest] = true
		}
	}
	return stay
}

// removeCopiesExcept removes all other copies, including copies of changes that were never
// recorded.
func (s *Store) removeCopiesExcept(stay map[string]bool) error {
	dir, err := os.Open(s.path(copiesDir))
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if id, _, waiting := strings.Cut(strings.TrimPrefix(name, "."), "-"); waiting {
			if _, err := os.Stat(s.path(pendingDir, id)); err == nil {
				continue
			}
		}
		if !stay[name] {
			errs = append(errs, ignoreNotExist(os.Remove(s.path(copiesDir, name))))
		}
	}
	return errors.Join(errs...)
}

// trimCatalogue removes the part of the catalogue before an offset.
func (s *Store) trimCatalogue(from int64) error {
	book, err := os.Open(s.path(catalogueName))
	if err != nil {
		return err
	}
	defer book.Close()
	if _, err := book.Seek(from, io.SeekStart); err != nil {
		return err
	}
	next := s.path(catalogueName + ".new")
	out, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, book)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err == nil {
		_ = book.Close() // Windows cannot replace an open file
		return os.Rename(next, s.path(catalogueName))
	}
	return errors.Join(err, os.Remove(next))
}
