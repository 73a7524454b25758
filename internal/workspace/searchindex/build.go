package searchindex

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"time"

	"golang.org/x/text/encoding/unicode"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/trigram"
)

const (
	maxFile  = 16 << 20 // larger files are not indexed; they always count as candidates
	headSize = 8 << 10  // a file with a NUL in its head is binary
	// racyAge is the min age of the last change of a file for its stamp to show
	// the next change, because file systems record times in coarse steps.
	racyAge     = 2 * time.Second
	buildMemory = 24 << 20
)

// A plan lists the files of a new segment.
type plan struct {
	old     *segment.Segment
	version uint64 // files that become fresh later have a greater version
	items   []item // ordered by name
}

// An item is a file of the old segment, or a file to read.
type item struct {
	old  uint32
	name string // "" for a file of the old segment
}

// plan returns the plan for a segment of the current view.
func (v *view) plan() plan {
	p := plan{old: v.seg, version: v.version, items: make([]item, 0, v.liveCount+v.freshCount)}
	v.version++
	fresh := v.freshNames(".")
	old := v.liveFiles(".", nil)
	var name []byte
	for len(old) > 0 {
		name = v.seg.AppendName(name[:0], old[0])
		for len(fresh) > 0 && fresh[0] < string(name) {
			p.items, fresh = append(p.items, item{name: fresh[0]}), fresh[1:]
		}
		p.items, old = append(p.items, item{old: old[0]}), old[1:]
	}
	for _, name := range fresh {
		p.items = append(p.items, item{name: name})
	}
	return p
}

// write writes the segment.
func (p plan) write(
	ctx context.Context, r *root.Root, path string, made segment.Digest,
) (seg *segment.Segment, err error) {
	b := segment.NewBuilder(filepath.Dir(path), buildMemory)
	defer func() { err = errors.Join(err, b.Close()) }()
	in := reader{root: r, buf: make([]byte, 64<<10)}
	files := make([]segment.File, len(p.items))
	var older *segment.Previous
	if p.old != nil {
		older = &segment.Previous{Segment: p.old, Renumber: make([]uint32, p.old.Len())}
	}
	for i, it := range p.items {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if it.name == "" {
			files[i] = segment.File{
				Name: string(p.old.AppendName(nil, it.old)), Stamp: p.old.Stamp(it.old), Flags: p.old.Flags(it.old),
			}
			older.Renumber[it.old] = uint32(i) + 1
			continue
		}
		found := in.read(it.name, &files[i])
		if err := b.Add(uint32(i), found); err != nil {
			return nil, err
		}
	}
	return b.Write(ctx, path, made, files, older)
}

// A reader reads files and collects their trigrams.
type reader struct {
	root *root.Root
	bag  trigram.Bag
	buf  []byte
}

// read returns the trigrams of a file. A file that cannot be read always counts as a
// candidate.
func (r *reader) read(name string, f *segment.File) []trigram.T {
	*f = segment.File{Name: name, Flags: segment.Always | segment.Racy}
	begun := time.Now()
	file, before, err := r.root.OpenRegular(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	if before.Size > maxFile {
		f.Flags, f.Stamp = segment.Always, stampOf(before)
		return nil
	}
	content, err := r.fill(file)
	if err != nil {
		return nil
	}
	after, err := root.Stat(file)
	if err != nil || !after.Same(before) || int64(len(content)) != after.Size {
		return nil
	}
	f.Flags, f.Stamp = 0, stampOf(before)
	if latest := max(f.Modified, f.Changed); begun.Add(-racyAge).UnixNano() < latest {
		f.Flags |= segment.Racy
	}
	if before.Links > 1 {
		f.Flags |= segment.Linked
	}
	text, isText := decoded(content)
	if !isText {
		f.Flags |= segment.Binary
		return nil
	}
	found, odd := r.bag.Add(text)
	if odd {
		f.Flags |= segment.Always
	}
	return found
}

// fill reads a file, up to one byte more than maxFile.
func (r *reader) fill(file io.Reader) ([]byte, error) {
	n := 0
	for n <= maxFile {
		if n == len(r.buf) {
			r.buf = append(r.buf, make([]byte, len(r.buf))...)
		}
		m, err := file.Read(r.buf[n:])
		n += m
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return r.buf[:n], nil
}

// decoded returns the text of a file as it is searched. ok is false for a binary file.
func decoded(content []byte) (text []byte, ok bool) {
	if !bytes.HasPrefix(content, []byte{0xfe, 0xff}) && !bytes.HasPrefix(content, []byte{0xff, 0xfe}) {
		return content, bytes.IndexByte(content[:min(len(content), headSize)], 0) < 0
	}
	text, err := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(content)
	return text, err == nil
}

func stampOf(i root.Info) segment.Stamp {
	return segment.Stamp{Size: i.Size, Modified: i.Modified.UnixNano(), Changed: i.Changed.UnixNano(), Ino: i.Ino}
}

// withSegment returns a view with a new segment, built by the plan. v must not be used
// afterwards.
func (v *view) withSegment(seg *segment.Segment, p plan) *view {
	next := newView(v.o, seg)
	next.watcher, next.mounts = v.watcher, v.mounts
	next.dirs, next.unread, next.relist, next.version, next.lost = v.dirs, v.unread, v.relist, v.version, v.lost
	next.fresh, next.freshCount, next.newNames = v.fresh, v.freshCount, v.newNames
	next.namesVersion, next.freshVersion = v.namesVersion+1, v.freshVersion+1
	for i, it := range p.items {
		n := uint32(i)
		if it.name != "" {
			dir, base := split(it.name)
			mark, ok := v.fresh[dir][base]
			if !ok || mark > p.version || seg.Flags(n)&(segment.Linked|segment.Racy) == segment.Linked|segment.Racy {
				continue
			}
			next.removeFresh(dir, base)
		} else if !v.alive(it.old) {
			continue
		}
		next.revive(n)
		if seg.Flags(n)&segment.Linked != 0 {
			next.linked = append(next.linked, n)
		}
	}
	return next
}
