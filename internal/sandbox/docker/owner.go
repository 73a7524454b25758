package docker

import (
	"crypto/rand"
	"os"
	"strconv"
	"strings"
)

// An owner identifies a server process among all processes of all machines.
type owner struct {
	machine string // the machine and its PID namespace; "" if unknown
	pid     int
	start   string // start time
	random  string
}

// thisProcess returns the owner for containers of this process.
func thisProcess() owner {
	pid := os.Getpid()
	return owner{machine: thisMachine(), pid: pid, start: started(pid), random: strings.ToLower(rand.Text()[:12])}
}

// String returns the value for labels.
func (o owner) String() string {
	return strings.Join([]string{o.machine, strconv.Itoa(o.pid), o.start, o.random}, "/")
}

// file returns the value for file names.
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

// A life is the state of an owner.
type life uint8

const (
	unknown life = iota // it is or was on another machine
	living
	dead
)

// state reports whether the owner still runs. It compares process IDs only for the
// current boot of this machine and the same PID namespace.
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
