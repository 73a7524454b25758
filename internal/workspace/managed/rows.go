package managed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/mirror"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// noun is the noun of the rows in kept. Their owner is blobOwner, so that equal contents of one workspace are one
// blob.
const noun = "workspace"

func (w *workspace) blobOwner() string { return "workspace " + w.name }

// partMark is between the name of a row and the number of a further part of the file. No path has it.
const partMark = "//"

// maxRowName is the maximum length of a path that is the name of its row; indexes of PostgreSQL have short values.
const maxRowName = 1000

// rowName returns the name of the row of a path.
func rowName(path string) string {
	if len(path) <= maxRowName && utf8.ValidString(path) && !strings.ContainsRune(path, 0) {
		return path
	}
	sum := sha256.Sum256([]byte(path))
	return partMark + hex.EncodeToString(sum[:])
}

// about is the description of a name in a row.
type about struct {
	Path  []byte      `json:"path,omitempty"` // if it is not the name of the row
	Kind  mirror.Kind `json:"kind"`
	Mode  fs.FileMode `json:"mode,omitempty"`
	Time  int64       `json:"time,omitempty"`
	Size  int64       `json:"size,omitempty"`
	Link  []byte      `json:"link,omitempty"`
	Parts int         `json:"parts,omitempty"` // of a file
}

// A stored is a name as the store has it.
type stored struct {
	mirror.Entry
	parts []part
}

// rows returns the values of the rows of a name.
func (w *workspace) rows(s stored, now int64) ([][]any, error) {
	name, owner := rowName(s.Path), blob.Owner(w.blobOwner())
	a := about{Kind: s.Kind, Mode: s.Mode, Time: s.Time, Size: s.Size, Link: []byte(s.Link), Parts: len(s.parts)}
	if name != s.Path {
		a.Path = []byte(s.Path)
	}
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	first := part{}
	if len(s.parts) > 0 {
		first = s.parts[0]
	}
	all := [][]any{{noun, owner, name, first.Blob, s.Digest, first.Size, string(text), now}}
	for i := 1; i < len(s.parts); i++ {
		all = append(all, []any{noun, owner, name + partMark + strconv.Itoa(i), s.parts[i].Blob, "", s.parts[i].Size, "", now})
	}
	return all, nil
}

// remove removes the rows of names, with the number of parts of each file.
func (w *workspace) remove(t *store.Tx, names map[string]int) error {
	var list []string
	for path, parts := range names {
		name := rowName(path)
		list = append(list, name)
		for i := 1; i < parts; i++ {
			list = append(list, name+partMark+strconv.Itoa(i))
		}
	}
	slices.Sort(list)
	for some := range slices.Chunk(list, 256) {
		args := []any{noun, blob.Owner(w.blobOwner())}
		in := store.In(&args, some)
		if _, err := t.Exec(`DELETE FROM kept WHERE noun = $1 AND owner = $2 AND name IN (`+in+`)`, args...); err != nil {
			return err
		}
	}
	return nil
}

// load returns the tree of the store, and its name.
func (w *workspace) load(ctx context.Context) (all map[string]stored, tree string, err error) {
	type row struct {
		name, blob, digest, about string
		size                      int64
	}
	var list []row
	err = w.t.o.Store.View(ctx, func(t *store.Tx) (err error) {
		if err := t.Row(`SELECT tree FROM workspace WHERE name = $1`, []any{w.name}, &tree); err != nil {
			return err
		}
		list, err = store.List(t, `SELECT name, blob, digest, size, about FROM kept WHERE noun = $1 AND owner = $2`,
			[]any{noun, blob.Owner(w.blobOwner())}, func(scan store.Scan) (r row, err error) {
				return r, scan(&r.name, &r.blob, &r.digest, &r.size, &r.about)
			})
		return err
	})
	if err != nil {
		return nil, "", err
	}
	all = make(map[string]stored, len(list))
	further := make(map[string]part)
	for _, r := range list {
		if r.about == "" {
			further[r.name] = part{r.blob, r.size}
		}
	}
	for _, r := range list {
		if r.about == "" {
			continue
		}
		var a about
		if err := json.Unmarshal([]byte(r.about), &a); err != nil {
			return nil, "", fmt.Errorf("a row of a workspace: %w", err)
		}
		s := stored{Entry: mirror.Entry{Path: r.name, Kind: a.Kind, Mode: a.Mode, Time: a.Time, Size: a.Size,
			Digest: r.digest, Link: string(a.Link)}}
		if a.Path != nil {
			s.Path = string(a.Path)
		}
		if a.Kind == mirror.File && a.Parts > 0 {
			s.parts = []part{{r.blob, r.size}}
			for i := 1; i < a.Parts; i++ {
				s.parts = append(s.parts, further[r.name+partMark+strconv.Itoa(i)])
			}
		}
		all[s.Path] = s
	}
	return all, tree, nil
}
