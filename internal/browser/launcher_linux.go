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

// LauncherArg is the first argument of this program when it runs as a launcher.
const LauncherArg = "browser-stage"

const (
	// probeArg makes the launcher exit at once. It tests whether processes can be started
	// in new namespaces.
	probeArg = "-only"
	// firstUninherited is the first file descriptor that the browser does not inherit.
	firstUninherited = 5
)

// innerPort is the port of the proxy in the browser's network namespace.
const innerPort = 3128

func innerAddress() string { return fmt.Sprintf("127.0.0.1:%d", innerPort) }

// RunLauncher is the main function of the launcher: this program, started again in new
// namespaces. args are the path and the arguments of a browser, which it executes.
// Without args it checks whether it could. Stdin is a socket to the server. The launcher
// sends the listener for the proxy, and error messages. RunLauncher returns only if it
// does not execute a browser.
func RunLauncher(args []string) int {
	if len(args) == 1 && args[0] == probeArg {
		return 0
	}
	runtime.LockOSThread() // capabilities belong to a thread, and are inherited from the one that calls exec
	server, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, firstUninherited)
	if err != nil {
		fmt.Fprintln(os.Stderr, "the launcher has no server:", err)
		return 1
	}
	if err := execBrowser(server, args); err != nil {
		_, _ = unix.Write(server, []byte(err.Error())) // the server may have ended
		return 1
	}
	return 0
}

// execBrowser does what needs capabilities, drops them, and executes the browser.
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
	if len(args) == 0 {
		return checkNestedNamespaces()
	}
	return unix.Exec(args[0], args, os.Environ())
}

// closeFiles closes all file descriptors except the output and the DevTools pipes.
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

// sendListener sends the listener for the proxy to the server, and waits for its reply.
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
		err = errors.New("the server has ended")
	}
	return err
}

// enableLoopback enables 127.0.0.1 in the network namespace of this process.
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

// dropCapabilities drops the capabilities that this thread got with the namespaces.
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

// checkNestedNamespaces returns an error if this process cannot create namespaces, which
// the sandbox of Chromium needs.
func checkNestedNamespaces() error {
	cmd := exec.Command(selfExe, LauncherArg, probeArg)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("namespaces for the sandbox of Chromium: %w", err)
	}
	return nil
}
