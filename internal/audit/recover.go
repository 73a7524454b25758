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

// Waiting reports whether a data directory has journals, of running or of killed
// processes.
func Waiting(dir string) bool {
	paths, err := journals(dir)
	return err != nil || len(paths) > 0 // Recover returns the error
}

// journals returns the paths of all journals.
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

// Recover uploads the journals that dead processes have left in a data directory
// and ends their chains. It returns the journals that cannot be uploaded and
// stay there. Of several concurrent calls one gets the lock of a journal.
func (db *DB) Recover(ctx context.Context, dir string) (left []Problem, err error) {
	paths, err := journals(dir)
	if err != nil {
		return nil, fmt.Errorf("listing the audit journals: %w", err)
	}
	for _, path := range paths {
		problem, err := recoverPath(ctx, db.rows, dir, path)
		if err != nil {
			return left, fmt.Errorf("recovering the audit journal %s: %w", path, err)
		}
		if problem != nil {
			problem.Chain = filepath.Join(journalDir, filepath.Base(path))
			left = append(left, *problem)
		}
	}
	return left, nil
}

// Recover calls [DB.Recover] for the directory of the Log, and logs journals
// that cannot be uploaded.
func (l *Log) Recover(ctx context.Context) {
	left, err := l.opts.DB.Recover(ctx, l.opts.Dir)
	l.report("recovering audit journals", err)
	for _, problem := range left {
		l.report("the audit journal of a killed process cannot be recovered", errors.New(problem.String()))
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

// recoverFile uploads the records of a journal. If it returns no problem the
// journal can be removed.
func recoverFile(ctx context.Context, rows rowStore, file *os.File, dir string) (*Problem, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxJournal {
		return &Problem{Kind: Foreign, Detail: "not a regular file, or too large for a journal"}, nil
	}
	w, problem, err := readJournal(file, dir)
	if err != nil || w == nil {
		return problem, err
	}
	w.upload.rows = rows
	return w.store(ctx, problem)
}

// A deadJournal is the content of the journal of a dead process.
type deadJournal struct {
	upload  upload
	records []recordRow
}

// store uploads the records that the store does not have, and ends the chain
// unless there was a problem.
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

// reportLost returns the problem of records that cannot be added to the store. A
// journal that is behind the store, in a copy of a directory, is no problem.
func (w *deadJournal) reportLost(ctx context.Context, problem *Problem) (*Problem, error) {
	if len(w.records) == 0 {
		return problem, nil
	}
	if had, err := w.upload.contains(ctx, w.records[len(w.records)-1]); had || err != nil {
		return problem, err
	}
	return &Problem{Record: uint64(w.records[0].Seq), Kind: Missing, Detail: fmt.Sprintf(
		"%d records of a killed process cannot be added: in the store the chain %s is missing or changed, "+
			"or it lost its end in a power cut, or it is in another store",
		len(w.records), chainName(w.upload.chain.ID))}, nil
}

// readJournal reads and checks the journal of a dead process. Lines before a
// problem are valid. It returns nil if there is no whole line.
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
		return nil, &Problem{Kind: Foreign, Detail: "not a journal of the audit log"}, nil
	}
	k, err := loadKey(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if err != nil || k.id() != b.Key {
		return nil, &Problem{Kind: OtherKey,
			Detail: fmt.Sprintf("records of a killed process cannot be added: they are sealed with the key %s, "+
				"which is missing; restore it", b.Key)}, nil
	}
	w := walker{counter: rowLine, seal: newSealer(k), last: origin()}
	if !w.seal.authentic(f) {
		return nil, &Problem{Kind: Changed, Detail: "the first line was changed"}, nil
	}
	w.accept(sealedLine{line: f.line})
	found := &deadJournal{upload: upload{key: k, dir: dir, chain: chainRow{ID: id, Key: b.Key, Line: string(f.line),
		Hash: w.last.String()}}}
	for lines.Scan() {
		if problem := found.readLine(&w, lines.Bytes()); problem != nil {
			return found, problem, nil
		}
	}
	if err := lines.Err(); err != nil {
		return found, &Problem{Record: w.number + 1, Kind: Foreign, Detail: "the rest cannot be read: " +
			err.Error()}, nil
	}
	return found, nil, nil
}

// wholeLines is a bufio.SplitFunc that drops bytes after the last line break.
func wholeLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}

// readLine reads a checkpoint or a record.
func (w *deadJournal) readLine(walk *walker, line []byte) *Problem {
	if bytes.HasPrefix(line, []byte(checkpointStart)) {
		return w.readCheckpoint(walk, line)
	}
	f, ok := parseLine(line)
	kind, detail := walk.step(f, ok)
	row, isRow := parseRow(w.upload.chain.ID, string(line))
	if kind == "" && !isRow {
		kind, detail = Foreign, "not a record"
	}
	if kind != "" {
		return &Problem{Record: f.number, Kind: kind, Detail: detail +
			"; this and the following records are not in the log"}
	}
	who, what := lookupKey(&row.Record)
	w.records = append(w.records, recordRow{
		Chain: w.upload.chain.ID, Seq: int64(row.Seq), At: row.Time.UnixMicro(), Who: who, What: what, Line: row.line,
	})
	return nil
}

// readCheckpoint reads a checkpoint. The first checkpoint names the record before the next
// records.
func (w *deadJournal) readCheckpoint(walk *walker, line []byte) *Problem {
	var at point
	f, ok := parseLinks(line)
	if !ok || !walk.seal.authentic(f) || json.Unmarshal(line, &at) != nil || at.Chain != chainName(w.upload.chain.ID) {
		return &Problem{Record: walk.number + 1, Kind: Changed,
			Detail: "a checkpoint was changed or is of another chain; the following records are not in the log"}
	}
	w.upload.begun = true
	if len(w.records) == 0 {
		walk.start(at)
		w.upload.chain.Seq, w.upload.chain.Hash, w.upload.bytes = int64(at.Seq), at.Mark, at.Bytes
	}
	return nil
}
