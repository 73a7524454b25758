package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Env describes the machine and the user.
type Env struct {
	Home    string                   // the user's home directory, absolute
	WorkDir string                   // the workspace for project files, absolute
	GOOS    string                   // as in runtime.GOOS
	Getenv  func(name string) string // the environment; nil means an empty one
	Now     func() time.Time         // names the backups; nil means the real time
}

// HostEnv returns the Env of this machine.
func HostEnv() (Env, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Env{}, fmt.Errorf("finding the home directory: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return Env{}, fmt.Errorf("finding the current directory: %w", err)
	}
	return Env{Home: home, WorkDir: dir, GOOS: runtime.GOOS, Getenv: os.Getenv, Now: time.Now}, nil
}

func (e Env) now() time.Time {
	if e.Now == nil {
		return time.Now()
	}
	return e.Now()
}

// find returns the first of some paths, with commas between, where there is a file, or
// else the first one. They may begin with ~ for the home directory and contain
//
//	${apps}             the directory for the settings of desktop programs
//	${config}           the one that programs from Linux use on all systems
//	${local}            the one for data of Windows programs
//	${work}             the workspace
//	${VARIABLE:PATH}    the value of a variable, or PATH
//
// On Windows, pack is the name of a package: if it is installed, the program sees a
// private copy of ${apps}.
func (e Env) find(paths, pack string) string {
	packed := e.expand("${local}/Packages/"+pack, "")
	apps := e.appData()
	if info, err := os.Stat(packed); pack != "" && e.GOOS == "windows" && err == nil && info.IsDir() {
		apps = packed + "/LocalCache/Roaming"
	}
	all := strings.Split(paths, ", ")
	for _, path := range all {
		path = e.expand(path, apps)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	return e.expand(all[0], apps)
}

func (e Env) expand(path, apps string) string {
	path = os.Expand(path, func(name string) string {
		switch name {
		case "apps":
			return apps
		case "config":
			return e.dir("XDG_CONFIG_HOME", "~/.config")
		case "local":
			return e.dir("LOCALAPPDATA", "~/AppData/Local")
		case "work":
			return e.WorkDir
		}
		variable, otherwise, _ := strings.Cut(name, ":")
		return e.dir(variable, otherwise)
	})
	if below, ok := strings.CutPrefix(path, "~"); ok {
		path = e.Home + below
	}
	return filepath.Clean(path)
}

// dir returns the directory that an environment variable names, or the default. A
// relative value is ignored, as the XDG rules require.
func (e Env) dir(variable, otherwise string) string {
	if e.Getenv != nil {
		if v := e.Getenv(variable); filepath.IsAbs(v) {
			return v
		}
	}
	return otherwise
}

// appData returns the directory for the settings of desktop programs.
func (e Env) appData() string {
	switch e.GOOS {
	case "darwin":
		return "~/Library/Application Support"
	case "windows":
		return e.dir("APPDATA", "~/AppData/Roaming")
	}
	return e.dir("XDG_CONFIG_HOME", "~/.config")
}
