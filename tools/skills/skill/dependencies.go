package skill

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Dependencies returns what the scripts of a skill may need to have installed: Python modules and Node packages outside
// of the standard libraries, and the programs in "#!" lines. It guesses from the text of the scripts and runs nothing.
func Dependencies(files []Content) (list []string) {
	own := ownModules(files)
	found := map[string]bool{}
	add := func(kind, name string) {
		if need := kind + " " + name; name != "" && !found[need] && len(found) < maxDependencies {
			found[need] = true
			list = append(list, need)
		}
	}
	for _, f := range files {
		if path.Dir(f.Path) != scripts || !IsText(f.Data) {
			continue
		}
		text := string(f.Data[:min(len(f.Data), maxScanned)])
		add("program", interpreter(text))
		switch path.Ext(f.Path) {
		case ".py":
			for _, name := range imported(pythonImport(), text) {
				if name, _, _ = strings.Cut(name, "."); !own[name] && !pythonHas()[name] {
					add("python module", name)
				}
			}
		case ".js", ".mjs", ".cjs":
			for _, name := range imported(nodeImport(), text) {
				if name = packageOf(name); !nodeHas()[name] {
					add("node package", name)
				}
			}
		}
	}
	slices.SortFunc(list, cmp.Compare[string])
	return list
}

const (
	scripts         = "scripts"
	maxDependencies = 40
	maxScanned      = 256 << 10 // bytes of a script
)

var (
	pythonImport = pattern(`(?m)^[ \t]*(?:` +
		`import[ \t]+([\w.]+(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[\w.]+(?:[ \t]+as[ \t]+\w+)?)*)|` +
		`from[ \t]+([\w][\w.]*)[ \t]+import\b)`)
	nodeImport = pattern(`(?m)(?:\brequire\([ \t]*|\bimport\([ \t]*|^[ \t]*import[ \t]+|\bfrom[ \t]+)` +
		`["']([^"'\s]{1,200})["']`)
	shebang = pattern(`^#!\s*/usr/bin/env[ \t]+(?:-S[ \t]+)?([\w.+-]+)`)

	pythonHas = named(`
		__future__ abc aifc argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii
		bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys
		compileall compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes
		curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum
		errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc getopt getpass gettext
		glob graphlib grp gzip hashlib heapq hmac html http imaplib imghdr imp importlib inspect io ipaddress
		itertools json keyword linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap
		modulefinder multiprocessing netrc nntplib numbers operator optparse os pathlib pdb pickle pickletools
		pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr
		pydoc queue quopri random re readline reprlib resource runpy sched secrets select selectors shelve shlex
		shutil signal site smtplib sndhdr socket socketserver sqlite3 ssl stat statistics string stringprep
		struct subprocess symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap
		threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle types typing
		unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib
		xml xmlrpc zipapp zipfile zipimport zlib zoneinfo`)
	nodeHas = named(`
		assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns
		domain events fs http http2 https inspector module net os path perf_hooks process punycode querystring
		readline repl stream string_decoder sys test timers tls trace_events tty url util v8 vm wasi
		worker_threads zlib`)
)

func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

func named(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		known := map[string]bool{}
		for word := range strings.FieldsSeq(list) {
			known[word] = true
		}
		return known
	})
}

// ownModules returns the modules that the scripts themselves provide.
func ownModules(files []Content) map[string]bool {
	own := map[string]bool{}
	for _, f := range files {
		rest, ok := strings.CutPrefix(f.Path, scripts+"/")
		if !ok {
			continue
		}
		first, _, isDir := strings.Cut(rest, "/")
		if isDir || path.Ext(first) == ".py" {
			own[strings.TrimSuffix(first, ".py")] = true
		}
	}
	return own
}

func imported(p *regexp.Regexp, text string) (names []string) {
	for _, m := range p.FindAllStringSubmatch(text, 200) {
		for _, part := range m[1:] {
			for name := range strings.SplitSeq(part, ",") {
				name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
				if name != "" {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// packageOf returns the package of an imported path, or "" for a file.
func packageOf(name string) string {
	name = strings.TrimPrefix(name, "node:")
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") || strings.Contains(name, ":") {
		return ""
	}
	parts := strings.SplitN(name, "/", 3)
	if strings.HasPrefix(name, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

func interpreter(text string) string {
	if m := shebang().FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
