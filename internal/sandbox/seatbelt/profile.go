package seatbelt

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// An access is the set of rights of the commands in one sandbox. All paths are absolute and have no links, in the
// spelling of the file system: rules are compared with the path that the kernel has of a file.
type access struct {
	Binds   []sandbox.Bind
	Hidden  []string // within binds
	Locked  []string // within binds
	Private []string // directories that are hidden except for the binds
	Home    string   // the private directory for temporary files; "" for none
	Program string   // the file of this program
	Ports   []int    // of the loopback address, for connections of commands
}

// base begins every profile. Reads are broad, as the loader and the libraries of the system need them; directories
// with files of people are taken out of it below.
//
// A hard link and a clone are a second name that no rule knows, so neither is allowed, and programs copy instead. Of the
// services of the system commands reach only the names of users and the log: no keychain, no clipboard, no other
// programs, and no name servers, as the proxy looks up names.
//
// Apple's own profiles allow writing to /dev/fd, whose files are the descriptors that a process has already: shells
// open it for >/dev/stderr. The one sysctl that may be written is a question of Java about processors, which passes
// its argument as a value. The names in shared memory are of the notifications of the system, which are only read, and of
// OpenMP, which finds a second copy of itself by them.
const base = `(version 1)
(deny default)
(import "dyld-support.sb")
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow sysctl-write (sysctl-name "kern.grade_cputype"))
(allow system-sched)
(allow pseudo-tty)
(allow ipc-posix-sem)
(allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center"))
(allow ipc-posix-shm-read* ipc-posix-shm-write*
  (ipc-posix-name-regex #"^/__KMP_REGISTERED_LIB_[0-9]+$"))
(allow mach-lookup
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.logd")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
(allow file-read*)
(allow file-map-executable)
(allow file-write-data
  (literal "/dev/stdout")
  (literal "/dev/stderr")
  (subpath "/dev/fd"))
(allow file-write* file-ioctl
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/tty")
  (literal "/dev/ptmx")
  (literal "/dev/dtracehelper")
  (regex #"^/dev/ttys[0-9]+$"))
`

// people are the directories of people and their programs, and of the keys of the system.
// /System/Volumes/Data is a second path of most of them.
var people = [...]string{
	"/Users", "/Volumes", "/Network", "/System/Volumes/Data", "/Library/Keychains", "/private/tmp", "/private/var/tmp",
	"/private/var/folders", "/private/var/root", "/private/var/mail", "/private/var/log",
}

// system are the directories of programs that commands see.
var system = [...]string{
	"/bin", "/sbin", "/usr", "/System/Library", "/System/Applications", "/System/Cryptexes", "/Library", "/Applications",
	"/opt", "/nix", "/etc", "/private/etc",
}

// profile returns the profile, and its parameters as NAME=value. Paths are parameters, so that no name of a file is read
// as a part of the profile.
//
// Of several rules that fit an operation the last one holds. So the rules go from outer directories to inner ones: a bind
// in a hidden directory is visible, and a locked file in a bind is locked.
func (a access) profile() (text string, parameters []string) {
	w := &writer{names: map[string]string{}}
	w.text.WriteString(base)
	for _, dir := range slices.Concat(people[:], a.Private) {
		w.rule("deny file-read*", "subpath", dir)
	}
	// Paths must be followed through directories whose names cannot be listed.
	w.text.WriteString("(allow file-read-metadata)\n(if (defined? 'file-test-existence) (allow file-test-existence))\n")
	w.rule("allow file-read*", "literal", a.Program)
	for _, p := range a.places() {
		switch p.kind {
		case readable:
			w.rule("allow file-read*", "subpath", p.path)
			w.rule("deny file-write*", "subpath", p.path)
		case writable:
			w.rule("allow file-read* file-write*", "subpath", p.path)
		case locked:
			w.rule("deny file-write*", "subpath", p.path)
		case hidden:
			w.rule("deny file-read* file-read-metadata file-write*", "subpath", p.path)
		}
	}
	for _, dir := range a.pinned() {
		w.rule("deny file-write-unlink", "literal", dir)
	}
	w.text.WriteString("(allow network-bind network-inbound (local ip \"localhost:*\"))\n")
	for _, port := range a.Ports {
		fmt.Fprintf(&w.text, "(allow network-outbound (remote ip \"localhost:%d\"))\n", port)
	}
	if a.Home != "" { // sockets between the processes of one command
		w.rule("allow network-bind network-inbound network-outbound", "subpath", a.Home)
	}
	return w.text.String(), w.parameters
}

// A kind is how commands see a directory or file. Of two of one path the later one holds.
type kind int

const (
	readable kind = iota
	writable
	locked
	hidden
)

// A place is a path with its own rule.
type place struct {
	path string
	kind kind
}

// places returns the places from outer ones to inner ones.
func (a access) places() (all []place) {
	for _, b := range a.Binds {
		if b.Write {
			all = append(all, place{b.Host, writable})
		} else {
			all = append(all, place{b.Host, readable})
		}
	}
	if a.Home != "" {
		all = append(all, place{a.Home, writable})
	}
	for _, path := range a.Locked {
		all = append(all, place{path, locked})
	}
	for _, path := range a.Hidden {
		all = append(all, place{path, hidden})
	}
	slices.SortFunc(all, func(x, y place) int {
		return cmp.Or(cmp.Compare(steps(x.path), steps(y.path)), cmp.Compare(x.path, y.path), cmp.Compare(x.kind, y.kind))
	})
	return slices.Compact(all)
}

// steps returns the number of names in a path.
func steps(dir string) int {
	return len(strings.FieldsFunc(dir, func(c rune) bool { return c == '/' }))
}

// pinned returns the directories that must not be moved: a protected file in one that was moved has a path that no rule
// names. These are the writable directories themselves, and those between one of them and a place that is not writable.
func (a access) pinned() (all []string) {
	var tops []string
	for _, p := range a.places() {
		if p.kind == writable {
			tops = append(tops, p.path)
		}
	}
	all = append(all, tops...)
	for _, p := range a.places() {
		if p.kind == writable {
			continue
		}
		for dir := path.Dir(p.path); dir != "/" && slices.ContainsFunc(tops, func(top string) bool {
			_, within := sandbox.Beneath(top, dir)
			return within
		}); dir = path.Dir(dir) {
			all = append(all, dir)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// A writer writes rules about paths.
type writer struct {
	text       strings.Builder
	parameters []string
	names      map[string]string // of the parameter of a path
}

func (w *writer) rule(operations, filter, path string) {
	name, known := w.names[path]
	if !known {
		name = "P" + strconv.Itoa(len(w.parameters))
		w.names[path] = name
		w.parameters = append(w.parameters, name+"="+path)
	}
	fmt.Fprintf(&w.text, "(%s (%s (param %q)))\n", operations, filter, name)
}
