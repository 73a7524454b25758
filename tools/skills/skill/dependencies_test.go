package skill

import (
	"strings"
	"testing"
)

func TestDependencies(t *testing.T) {
	for name, c := range map[string]struct{ path, text, want string }{
		"python":            {"scripts/a.py", "#!/usr/bin/env python3\nimport os, requests as r, yaml.loader\nfrom bs4.element import Tag\nfrom . import x\nfrom helper import y\n", "program python3, python module bs4, python module requests, python module yaml"},
		"within a function": {"scripts/a.py", "def f():\n    import numpy\n", "python module numpy"},
		"a text":            {"scripts/a.py", "x = 'import this and that'\n# import nothing\n", ""},
		"node":              {"scripts/a.mjs", "import fs from 'node:fs'\nimport x from \"@scope/pkg/deep\"\nconst a = require('axios'); await import('lodash/fp')\nimport './own.js'\n", "node package @scope/pkg, node package axios, node package lodash"},
		"shell":             {"scripts/run.sh", "#!/usr/bin/env -S bash -e\necho import x\n", "program bash"},
		"not a script":      {"references/a.py", "import requests\n", ""},
		"deeper":            {"scripts/lib/a.py", "import requests\n", ""},
		"binary":            {"scripts/a.py", "import requests\x00", ""},
	} {
		files := []Content{content("scripts/helper.py", ""), content(c.path, c.text)}
		if got := strings.Join(Dependencies(files), ", "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func FuzzDependencies(f *testing.F) {
	f.Add("scripts/a.py", "import a, b\nfrom c import d")
	f.Add("scripts/a.js", "import 'x'; require(\"y\")")
	f.Fuzz(func(t *testing.T, name, text string) {
		list := Dependencies([]Content{content(name, text)})
		if len(list) > maxDependencies {
			t.Errorf("%d", len(list))
		}
		for _, need := range list {
			if len(need) > 300+len(text) || strings.ContainsAny(need, "\n\r") {
				t.Errorf("%q", need)
			}
		}
	})
}
