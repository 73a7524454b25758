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

// LauncherArg is the first argument of this program that makes it a stage.
const LauncherArg = "browser-stage"

const (
	// insecureArg lets a stage start a browser without its own sandbox.
	insecureArg = "-weak"
	// probeArg makes a stage that ends at once: that it could be started in a
	// namespace is all there is to know.
	probeArg = "-only"
	// firstUninherited is the first descriptor that a browser is not to inherit.
	firstUninherited = 5
)

// innerPort is where the proxy is, in a network in which there is nothing else.
const innerPort = 3128

func innerAddress() string { return fmt.Sprintf("127.0.0.1:%d", innerPort) }

// RunLauncher is the main function of a stage: this program, started again in
// namespaces of its own. args are a browser and its arguments, which it becomes;
// without any it says whether it could. Stdin is a socket to the server, which
// is sent what the proxy is to listen on, and in words what went wrong. It
// returns only when it has not become a browser.
func RunLauncher(args []string) int {
	if len(args) == 1 && args[0] == probeArg {
		return 0
	}
	runtime.LockOSThread() // rights are a thread's, and the one that executes hands on its own
	server, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, firstUninherited)
	if err != nil {
		fmt.Fprintln(os.Stderr, "a stage without a server:", err)
		return 1
	}
	if err := execBrowser(server, args); err != nil {
		_, _ = unix.Write(server, []byte(err.Error())) // owner does not hear it does not wait for it
		return 1
	}
	return 0
}

// execBrowser does what needs rights, gives them up, and executes.
func execBrowser(server int, args []string) error {
	if err := closeFiles(); err != nil {
		return fmt.Errorf("files: %w", err)
	}
	if err := sendListener(server); err != nil {
		return fmt.Errorf("a network: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("rights: %w", err)
	}
	weak := len(args) > 0 && args[0] == insecureArg
	if weak {
		args = args[1:]
	}
	if len(args) == 0 {
		return checkNestedNamespaces()
	}
	if weak && checkNestedNamespaces() != nil {
		args = append([]string{args[0], noSandbox}, args[1:]...)
	}
	return unix.Exec(args[0], args, os.Environ())
}

// closeFiles keeps the browser from all files but its own: nothing to read, its
// words, and DevTools.
func closeFiles() error {
	if err := unix.CloseRange(firstUninherited, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return err
	}
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Dup3(null, 0, 0), unix.Close(null))
}

// sendListener sends the server what its proxy is to listen on, and waits until it may
// go on.
func sendListener(server int) error {
	if err := enableLoopback(); err != nil {
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

// enableLoopback makes 127.0.0.1 work in the network of this process.
func enableLoopback() error {
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

// dropCapabilities takes from this thread what the namespaces gave it.
func dropCapabilities() error {
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

// checkNestedNamespaces reports whether namespaces can be had within these, as Chromium needs
// them for its own sandbox.
func checkNestedNamespaces() error {
	cmd := exec.Command(selfExe, LauncherArg, probeArg)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("namespaces for the sandbox of Chromium: %w", err)
	}
	return nil
}
