package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Waiting says whether there are journals in a data directory: of processes
// that run, or of some that were killed.
func Waiting(dir string) bool {
	paths, err := journals(dir)
	return err != nil || len(paths) > 0 // Recover says what is wrong
}

// journals are the paths of all there are.
func journals(dir string) (paths []string, err error) {
	dir = filepath.Join(dir, journalDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if e.Type().IsRegular() && filepath.Ext(e.Name()) == journalExt {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}

// Recover carries to the store what processes that are dead have left in the
// journals of a data directory, and ends their chains. It returns what cannot
// be carried, where it stays. Of several who recover at once one has the lock.
func (db *DB) Recover(ctx context.Context, dir string) (left []Problem, err error) {
	paths, err := journals(dir)
	if err != nil {
		return nil, fmt.Errorf("looking for the journals of processes that were killed: %w", err)
	}
	for _, path := range paths {
		problem, err := recoverPath(ctx, db.rows, dir, path)
		if err != nil {
			return left, fmt.Errorf("carrying the journal %s: %w", path, err)
		}
		if problem != nil {
			problem.Chain = filepath.Join(journalDir, filepath.Base(path))
			left = append(left, *problem)
		}
	}
	return left, nil
}

// Recover is [DB.Recover] for the directory of the log. What cannot be carried it
// reports to the logger.
func (l *Log) Recover(ctx context.Context) {
	left, err := l.opts.DB.Recover(ctx, l.opts.Dir)
	l.report("carrying the journals of processes that were killed", err)
	for _, problem := range left {
		l.report("the journal of a process that was killed cannot be carried", errors.New(problem.String()))
	}
}

func recoverPath(ctx context.Context, rows rowStore, dir, path string) (*Problem, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return &Problem{Kind: Foreign, Detail: "this journal cannot be read: " + err.Error()}, nil
	}
	dead, err := lockIfNamed(file, path)
	if err != nil || !dead {
		return nil, errors.Join(err, file.Close())
	}
	problem, err := recoverFile(ctx, rows, file, dir)
	if err != nil || problem != nil {
		return problem, errors.Join(err, file.Close())
	}
	return nil, discard(file, path)
}

// recoverFile carries what is in a journal. Without a problem it is of no use any
// more.
func recoverFile(ctx context.Context, rows rowStore, file *os.File, dir string) (*Problem, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxJournal {
		return &Problem{Kind: Foreign, Detail: "this is no file, or too large for a journal"}, nil
	}
	w, problem, err := readJournal(file, dir)
	if err != nil || w == nil {
		return problem, err
	}
	w.upload.rows = rows
	return w.store(ctx, problem)
}

// A deadJournal is what a dead process has left in its journal.
type deadJournal struct {
	upload  upload
	records []recordRow
}

// upload_ carries what the store does not have, and ends the chain unless there is
// a problem with the rest of the journal.
func (w *deadJournal) store(ctx context.Context, problem *Problem) (*Problem, error) {
	for {
		one, cancel := context.WithTimeout(ctx, txTimeout)
		n, err := w.upload.next(one, w.records, time.Now().UnixMilli())
		cancel()
		w.records = w.records[n:]
		if errors.Is(err, errMoved) {
			return w.reportLost(ctx, problem)
		}
		if err != nil {
			return nil, err
		}
		if len(w.records) == 0 {
			break
		}
	}
	if problem != nil || !w.upload.begun {
		return problem, nil
	}
	return nil, w.upload.end(ctx)
}

// reportLost says what there is that the store has no place for. A copy of a journal,
// which comes with a copy of the directory, may be behind the store.
func (w *deadJournal) reportLost(ctx context.Context, problem *Problem) (*Problem, error) {
	if len(w.records) == 0 {
		return problem, nil
	}
	if had, err := w.upload.contains(ctx, w.records[len(w.records)-1]); had || err != nil {
		return problem, err
	}
	return &Problem{Record: uint64(w.records[0].Seq), Kind: Missing, Detail: fmt.Sprintf(
		"the store does not have what these %d records of a process that was killed follow: the chain %s was removed or changed there, or lost its end in a power cut, or is in another store",
		len(w.records), chainName(w.upload.chain.ID))}, nil
}

// readJournal reads the journal of a dead process, and checks it as if it were
// in the store. What is before a problem is as good as ever. Without any whole
// line there is nothing.
func readJournal(from io.Reader, dir string) (*deadJournal, *Problem, error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine+1)
	lines.Split(wholeLines)
	if !lines.Scan() && lines.Err() == nil {
		return nil, nil, nil
	}
	f, b, ok := parseBeginning(lines.Bytes())
	id, named := chainID(b.Chain)
	if !ok || !named {
		return nil, &Problem{Kind: Foreign, Detail: "this is no journal of the audit log"}, nil
	}
	k, err := loadKey(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if err != nil || k.id() != b.Key {
		return nil, &Problem{Kind: OtherKey, Detail: fmt.Sprintf("records of a process that was killed are not in the log, because they are sealed with the key %s, which is not here; put it back", b.Key)}, nil
	}
	w := walker{counter: rowLine, seal: newSealer(k), last: origin()}
	if !w.seal.authentic(f) {
		return nil, &Problem{Kind: Changed, Detail: "how the chain begins was changed"}, nil
	}
	w.accept(sealedLine{line: f.line})
	found := &deadJournal{upload: upload{key: k, chain: chainRow{ID: id, Key: b.Key, Line: string(f.line), Hash: w.last.String()}}}
	for lines.Scan() {
		if problem := found.readLine(&w, lines.Bytes()); problem != nil {
			return found, problem, nil
		}
	}
	if err := lines.Err(); err != nil {
		return found, &Problem{Record: w.number + 1, Kind: Foreign, Detail: "from here on this cannot be read: " + err.Error()}, nil
	}
	return found, nil, nil
}

// wholeLines splits at line breaks. What follows the last of them is nothing.
func wholeLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}

// readLine takes down a line that comes after the first: a mark or a record.
func (w *deadJournal) readLine(walk *walker, line []byte) *Problem {
	if bytes.HasPrefix(line, []byte(checkpointStart)) {
		return w.readCheckpoint(walk, line)
	}
	f, ok := parseLine(line)
	kind, detail := walk.step(f, ok)
	row, isRow := parseRow(w.upload.chain.ID, string(line))
	if kind == "" && !isRow {
		kind, detail = Foreign, "this is no record"
	}
	if kind != "" {
		return &Problem{Record: f.number, Kind: kind, Detail: detail + "; it and what follows are not in the log"}
	}
	who, what := lookupKey(&row.Record)
	w.records = append(w.records, recordRow{
		Chain: w.upload.chain.ID, Seq: int64(row.Seq), At: row.Time.UnixMicro(), Who: who, What: what, Line: row.line,
	})
	return nil
}

// readCheckpoint takes down what a mark says: that the store has the chain, and, where it
// stands before all records, what they follow.
func (w *deadJournal) readCheckpoint(walk *walker, line []byte) *Problem {
	var at point
	f, ok := parseLinks(line)
	if !ok || !walk.seal.authentic(f) || json.Unmarshal(line, &at) != nil || at.Chain != chainName(w.upload.chain.ID) {
		return &Problem{Record: walk.number + 1, Kind: Changed, Detail: "a line that says how far the store is was changed, or is of another chain; what follows is not in the log"}
	}
	w.upload.begun = true
	if len(w.records) == 0 {
		walk.start(at)
		w.upload.chain.Seq, w.upload.chain.Hash, w.upload.bytes = int64(at.Seq), at.Mark, at.Bytes
	}
	return nil
}
