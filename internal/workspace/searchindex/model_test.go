package searchindex

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A model makes random changes to a world.
type model struct {
	*world
	r   *rand.Rand
	log []string
	how func(*Index)
}

var (
	modelDirs  = []string{"a", "b", "c", ".h", "a-b", "build"}
	modelFiles = []string{"f", "g.txt", "h.log", ".dot", "k.secret", ".gitignore", ".ignore", "z"}
	modelTexts = []string{"needle", "alpha and beta", "gamma", "nothing here", "x", "", "*.log\n", "build\n", "!.h\n", "/a\n", "g.*\n!f\n", "NEEDLE \u212a", "bin\x00ary needle",
		"\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00"}
)

func (m *model) name(list []string) string {
	name := list[m.r.IntN(len(list))]
	for range m.r.IntN(4) {
		name = modelDirs[m.r.IntN(len(modelDirs))] + "/" + name
	}
	return name
}

func (m *model) text() []byte { return []byte(modelTexts[m.r.IntN(len(modelTexts))]) }

// step makes one change, and ignores its errors.
func (m *model) step() {
	p := func(list []string) string { return m.path(m.name(list)) }
	file, dir := p(modelFiles), p(modelDirs)
	var what string
	var err error
	switch m.r.IntN(20) {
	case 0, 1, 2, 3, 4:
		what = "write " + file
		if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
			err = os.WriteFile(file, m.text(), 0o644)
		}
	case 5, 6:
		what, err = "write in place "+file, os.WriteFile(file, m.text(), 0o644)
	case 7:
		to := p(modelFiles)
		what, err = "rename "+file+" to "+to, os.Rename(file, to)
	case 8, 9:
		to := p(modelDirs)
		what, err = "move "+dir+" to "+to, os.Rename(dir, to)
	case 10:
		what, err = "remove "+file, os.Remove(file)
	case 11:
		what, err = "remove all "+dir, os.RemoveAll(dir)
	case 12:
		what, err = "mkdir "+dir, os.MkdirAll(dir, 0o755)
	case 13:
		to := filepath.Join(filepath.Dir(file), filepath.Base(p(modelFiles)))
		if what = "link " + file + " to " + to; !ruleFile(filepath.Base(file)) && !ruleFile(filepath.Base(to)) {
			err = os.Link(file, to)
		}
	case 14:
		to := p(modelFiles)
		what, err = "symlink "+to, os.Symlink(file, to)
	case 15:
		what, err = "a repository in "+dir, os.MkdirAll(filepath.Join(dir, ".git/info"), 0o755)
	case 16:
		what, err = "an exclude file in "+dir, os.WriteFile(filepath.Join(dir, ".git/info/exclude"), m.text(), 0o644)
	case 17:
		what, err = "no repository in "+dir, os.RemoveAll(filepath.Join(dir, ".git"))
	case 18:
		old := time2020()
		what, err = "set back "+file, os.Chtimes(file, old, old)
	case 19:
		what, err = "touch "+dir, os.Chmod(dir, 0o700|os.FileMode(m.r.IntN(64)))
	}
	m.log = append(m.log, strings.ReplaceAll(fmt.Sprint(what, " ", err != nil), m.dir, ""))
}

func (m *model) run(steps int) {
	answers := 0
	for i := range steps {
		for range 1 + m.r.IntN(3) {
			m.step()
		}
		if m.check(fmt.Sprint("step ", i), m.name(modelDirs), m.name(modelDirs)) {
			answers++
		}
		if m.t.Failed() {
			m.t.Fatalf("what was done:\n%s", strings.Join(m.log[max(0, len(m.log)-20):], "\n"))
		}
		if m.r.IntN(40) == 0 { // a restart
			if err := m.x.Close(); err != nil {
				m.t.Fatal(err)
			}
			m.step()
			m.start(m.how)
		}
	}
	m.t.Logf("%d of %d steps were answered in full", answers, steps)
	if answers < steps/20 {
		m.t.Errorf("%d of %d steps were answered: the test shows little", answers, steps)
	}
}

// hasty builds a new segment after every change.
func hasty(x *Index) { x.intervals.build, x.intervals.maxStale, x.intervals.verify = 1, 0, 1 }

func TestModel(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runModel(t, seed, hasty) })
	}
}

func runModel(t *testing.T, seed uint64, how func(*Index)) {
	m := &model{world: newWorld(t, t.TempDir()), r: rand.New(rand.NewPCG(seed, 7)), how: how}
	for range 40 {
		m.step()
	}
	m.start(how)
	m.run(100)
}
