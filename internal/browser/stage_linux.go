package browser

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// StageArg is the first argument of this program that makes it a stage.
const StageArg = "browser-stage"

const (
	// weakArg lets a stage start a browser without its own sandbox.
	weakArg = "-weak"
	// onlyArg makes a stage that ends at once: that it could be started in a
	// namespace is all there is to know.
	onlyArg = "-only"
	// firstOther is the first descriptor that a browser is not to inherit.
	firstOther = 5
)

// innerPort is where the proxy is, in a network in which there is nothing else.
const innerPort = 3128

func innerAddress() string { return fmt.Sprintf("127.0.0.1:%d", innerPort) }

// Stage is the main function of a stage: this program, started again in
// namespaces of its own. args are a browser and its arguments, which it becomes;
// without any it says whether it could. Stdin is a socket to the server, which
// is sent what the proxy is to listen on, and in words what went wrong. It
// returns only when it has not become a browser.
func Stage(args []string) int {
	if len(args) == 1 && args[0] == onlyArg {
		return 0
	}
	runtime.LockOSThread() // rights are a thread's, and the one that executes hands on its own
	server, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, firstOther)
	if err != nil {
		fmt.Fprintln(os.Stderr, "a stage without a server:", err)
		return 1
	}
	if err := become(server, args); err != nil {
		_, _ = unix.Write(server, []byte(err.Error())) // who does not hear it does not wait for it
		return 1
	}
	return 0
}

// become does what needs rights, gives them up, and executes.
func become(server int, args []string) error {
	if err := leaveFiles(); err != nil {
		return fmt.Errorf("files: %w", err)
	}
	if err := offer(server); err != nil {
		return fmt.Errorf("a network: %w", err)
	}
	if err := dropRights(); err != nil {
		return fmt.Errorf("rights: %w", err)
	}
	weak := len(args) > 0 && args[0] == weakArg
	if weak {
		args = args[1:]
	}
	if len(args) == 0 {
		return nested()
	}
	if weak && nested() != nil {
		args = append([]string{args[0], noSandbox}, args[1:]...)
	}
	return unix.Exec(args[0], args, os.Environ())
}

// leaveFiles keeps the browser from all files but its own: nothing to read, its
// words, and DevTools.
func leaveFiles() error {
	if err := unix.CloseRange(firstOther, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return err
	}
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Dup3(null, 0, 0), unix.Close(null))
}

// offer sends the server what its proxy is to listen on, and waits until it may
// go on.
func offer(server int) error {
	if err := raiseLoopback(); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: innerPort}); err != nil {
		return err
	}
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return err
	}
	if err := unix.Sendmsg(server, []byte{0}, unix.UnixRights(fd), nil, 0); err != nil {
		return err
	}
	n, err := unix.Read(server, make([]byte, 1))
	if err == nil && n == 0 {
		err = errors.New("the server is gone")
	}
	return err
}

// raiseLoopback makes 127.0.0.1 work in the network of this process.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// dropRights takes from this thread what the namespaces gave it.
func dropRights() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&head, &none[0]); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}

// nested reports whether namespaces can be had within these, as Chromium needs
// them for its own sandbox.
func nested() error {
	cmd := exec.Command(running, StageArg, onlyArg)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("namespaces for the sandbox of Chromium: %w", err)
	}
	return nil
}
