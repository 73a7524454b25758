package docker

import (
	"crypto/rand"
	"os"
	"strconv"
	"strings"
)

// An owner is a server process, told from all others that ever were.
type owner struct {
	machine string // and where on it process numbers count; "" when not known
	pid     int
	start   string // when it started
	random  string
}

// thisProcess is the owner of what is made here.
func thisProcess() owner {
	pid := os.Getpid()
	return owner{machine: thisMachine(), pid: pid, start: started(pid), random: strings.ToLower(rand.Text()[:12])}
}

// String is how it stands in labels.
func (o owner) String() string {
	return strings.Join([]string{o.machine, strconv.Itoa(o.pid), o.start, o.random}, "/")
}

// file is how it stands in names of files.
func (o owner) file() string { return strings.ReplaceAll(o.String(), "/", "_") }

func parseOwner(label string) (owner, bool) {
	f := strings.Split(label, "/")
	if len(f) != 4 {
		return owner{}, false
	}
	pid, err := strconv.Atoi(f[1])
	if err != nil || pid <= 0 {
		return owner{}, false
	}
	return owner{f[0], pid, f[2], f[3]}, true
}

func ownerOfFile(name string) (owner, bool) { return parseOwner(strings.ReplaceAll(name, "_", "/")) }

// A life is what is known of an owner.
type life uint8

const (
	unknown life = iota // it is, or was, somewhere else
	living
	dead
)

// state says whether the owner still runs. Process numbers say something about
// this machine only, as long as it runs, and only where they are counted.
func (o owner) state() life {
	here := thisMachine()
	if here == "" || o.machine != here {
		return unknown
	}
	if now := started(o.pid); now == "" || now != o.start {
		return dead
	}
	return living
}
