package judge

import "testing"

// TestShape holds what a pattern for a text may and may not reach.
func TestShape(t *testing.T) {
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{"git push", "git push", true},
		{"git push a", "git push b", true},
		{"npm run 'build it'", "npm run test", true},
		{"git push origin x", "git push", false},
		{"git push a", "git push a > .bashrc", false},
		{"git push a", "git push a; git push b", false},
		{"git push a", "git push a && git push b", false},
		{"git push a", "git push a &", false},
		{"git push a b", "git push --force a", false},
		{"git push a", "git push $X", false},
		{"git push a", "git push $(rm x)", false},
		{"git push a", "git push *", false},
		{"git push a", "X=1 git push a", false},
		{"git push a", "git pull a", true},
		{"cat < a", "cat < b", false},
		{"a | b", "a || b", false},
		{"cat <<E\nx\nE", "cat <<E\ny\nE", false},
		{"if a; then b; fi", "if a; then c; fi", false},
		{"ls (", "ls (x", false},
	} {
		if same := Shape(c.one) == Shape(c.other); same != c.same {
			t.Errorf("%q and %q: the same is %v, and\n%s\n%s", c.one, c.other, same, Shape(c.one), Shape(c.other))
		}
	}
}

// TestFindHandsItsStdinOn is about a shell that find starts.
func TestFindHandsItsStdinOn(t *testing.T) {
	r := request(`find . -maxdepth 0 -exec sh \;`, false)
	r.Stdin = "rm -rf ~/x"
	if v := Judge(r, Rules{}); v.Denied == nil {
		t.Errorf("%+v", v)
	}
}
