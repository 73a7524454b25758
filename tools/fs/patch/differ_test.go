package patch

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/fs/edit"
)

// FuzzApply applies anything to anything. What it does not name stays.
func FuzzApply(f *testing.F) {
	f.Add("a\nb\nc", "*** Begin Patch\n*** Update File: f\n@@ a\n-b\n+x\n*** End of File\n*** End Patch")
	f.Add("a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n")
	f.Add("\ta\n\t\tb\n", "--- a/f\n+++ b/f\n@@\n     a\n-        b\n+        c\n")
	f.Add("“a”\n", "*** Begin Patch\n*** Update File: f\n-\"a\"\n+b\n\n*** End Patch")
	f.Fuzz(func(t *testing.T, before, patch string) {
		files, err := Parse(patch)
		if err != nil {
			return
		}
		for _, file := range files {
			content := before
			if file.Op == Add {
				content = ""
			}
			res, err := Apply([]byte(content), file, nil)
			var known *tool.Error
			if err != nil && !errors.As(err, &known) {
				t.Fatalf("an error that no model can read: %v", err)
			}
			if err != nil || file.Op == Delete {
				continue
			}
			had, has := len(edit.SplitLines(res.Before)), len(edit.SplitLines(res.After))
			bare := strings.Contains(patch, "\n\\") // then an empty line may be added that nothing shows
			if has != had+res.Added-res.Removed && !bare {
				t.Errorf("%d lines, %d added, %d removed, and there are %d: %q", had, res.Added, res.Removed, has, res.After)
			}
			if res.Added+res.Removed == 0 && string(res.Content) != content {
				t.Errorf("%q became %q by no change", content, res.Content)
			}
		}
	})
}

// shuffled changes a text here and there.
func shuffled(r *rand.Rand, lines []string) []string {
	var out []string
	for _, line := range lines {
		switch r.IntN(12) {
		case 0:
		case 1:
			out = append(out, line, "added "+line)
		case 2:
			out = append(out, "changed "+line)
		default:
			out = append(out, line)
		}
	}
	return out
}

func randomText(r *rand.Rand) []string {
	words := []string{"", "a", "b", "\tindented", "-- dashes", "++ plus", "@@ -1 +1 @@", "diff --git a/x b/x", `\ No newline`, "*** End Patch", "crlf\r", "ünï"}
	lines := make([]string, r.IntN(40))
	for i := range lines {
		lines[i] = words[r.IntN(len(words))]
	}
	return lines
}

// TestAgreesWithGitAndDiff applies what git and diff write, and compares with
// what git makes of files that moved on.
func TestAgreesWithGitAndDiff(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a few hundred programs")
	}
	for _, program := range []string{"git", "diff"} {
		needtest.Program(t, program)
	}
	const rounds = 40
	r := rand.New(rand.NewPCG(1, 2))
	agreed, refused := 0, 0
	for range rounds {
		dir := t.TempDir()
		lines := randomText(r)
		before, after := strings.Join(lines, "\n"), strings.Join(shuffled(r, lines), "\n")
		if r.IntN(2) == 0 {
			before += "\n"
		}
		if r.IntN(2) == 0 {
			after += "\n"
		}
		if before == after {
			continue
		}
		put(t, dir, "a/f", before)
		put(t, dir, "b/f", after)
		for _, args := range [][]string{
			{"git", "-c", "core.autocrlf=false", "diff", "--no-index", "--no-prefix", "a/f", "b/f"},
			{"diff", "-u", "a/f", "b/f"}, {"diff", "-U1", "a/f", "b/f"},
		} {
			diff := output(t, dir, args)
			files, err := Parse(diff)
			if err != nil {
				t.Fatalf("%v: %v\n%s", args, err, diff)
			}
			res, err := Apply([]byte(before), files[0], nil)
			if err != nil || string(res.Content) != after {
				t.Fatalf("%v: %q, want %q: %v\n%s", args, res.Content, after, err, diff)
			}
			moved := "one\ntwo\n" + before
			res, err = Apply([]byte(moved), files[0], nil)
			put(t, dir, "work/f", moved)
			put(t, dir, "work/p", diff)
			git := exec.Command("git", "-c", "core.autocrlf=false", "apply", "-p1", "--whitespace=nowarn", "p")
			git.Dir = filepath.Join(dir, "work")
			git.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+dir)
			if said, gitErr := git.CombinedOutput(); gitErr != nil {
				continue // as for a hunk at the top, which git does not move
			} else if err != nil { // git guesses
				refused++
				if !strings.Contains(err.Error(), "could belong") {
					t.Errorf("git applies (%s) and we do not: %v\n%s", said, err, diff)
				}
			} else if want := get(t, dir, "work/f"); string(res.Content) != want {
				t.Errorf("%q, git makes %q\n%s", res.Content, want, diff)
			} else {
				agreed++
			}
		}
	}
	if t.Logf("%d agreed, %d refused", agreed, refused); agreed < 10 {
		t.Errorf("compared only %d times", agreed)
	}
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	full := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// output is what a program prints that ends with 1 when files differ.
func output(t *testing.T, dir string, args []string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v: %v %s", args, err, &problems)
	}
	return out.String()
}
