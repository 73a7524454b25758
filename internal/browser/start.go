package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	windowWidth  = 1280
	windowHeight = 800
	writeTimeout = 10 * time.Second // for writing a command
	exitTimeout  = 5 * time.Second  // for the process to exit after a failed start
)

// A program is a running Chromium.
type program struct {
	dirs   *directories
	listen net.Listener // of the proxy
	to     *os.File     // commands
	from   *os.File     // responses and events
	output *tailBuffer  // stdout and stderr
	kill   func()       // kills all processes of the browser
	done   chan struct{}
}

// startOptions are the options for starting Chromium on all systems.
type startOptions struct {
	path     string
	dirs     *directories
	args     func(proxy string) []string
	insecure bool       // start without isolation if the system does not permit it
	memory   int64      // limit of each process
	files    []*os.File // file descriptors 3 and 4
	output   io.Writer
}

// noSandbox starts Chromium without its own sandbox.
const noSandbox = "--no-sandbox"

// startProgram starts Chromium with new directories in home.
func startProgram(o Options, home string) (*program, error) {
	path, err := findExecutable(o.Path)
	if err != nil {
		return nil, err
	}
	p := &program{output: &tailBuffer{}, done: make(chan struct{})}
	if p.dirs, err = newDirectories(home); err != nil {
		return nil, fmt.Errorf("creating the directories of the browser: %w", err)
	}
	if err := p.launch(startOptions{
		path: path, dirs: p.dirs, output: p.output, insecure: o.Insecure, memory: o.Memory,
		args: func(proxy string) []string { return arguments(proxy, p.dirs) },
	}); err != nil {
		return nil, errors.Join(err, p.dirs.remove())
	}
	return p, nil
}

// launch starts the process with DevTools on a pair of pipes.
func (p *program) launch(s startOptions) error {
	commands, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer commands.Close()
	from, responses, err := os.Pipe()
	if err != nil {
		return errors.Join(err, to.Close())
	}
	defer responses.Close()
	p.to, p.from = to, from
	s.files = []*os.File{commands, responses}
	if err := p.run(s); err != nil {
		return errors.Join(err, to.Close(), from.Close())
	}
	return nil
}

// close kills the browser, waits until it has ended, and deletes its files.
func (p *program) close() error {
	p.kill()
	<-p.done
	return errors.Join(p.to.Close(), p.from.Close(), p.dirs.remove())
}

// explain ends a browser that failed to start, and returns an error with the cause from
// its output.
func (p *program) explain(err error) error {
	wait := time.NewTimer(exitTimeout)
	defer wait.Stop()
	select { // Chromium prints the cause before it exits
	case <-p.done:
	case <-wait.C:
	}
	p.kill()
	<-p.done
	words := p.output.String()
	if strings.Contains(words, "No usable sandbox") || strings.Contains(words, "sandbox_host_linux") ||
		strings.Contains(words, "Failed to move to new namespace") {
		return tool.Errorf(tool.Unavailable, "Chromium is not started: the system does not permit its sandbox").
			Try("use web_fetch; the operator can allow user namespaces, or a browser without a sandbox").
			Because(errors.New(words))
	}
	return tool.Errorf(tool.Unavailable, "the browser did not start").Try("try again, or use web_fetch").
		Because(errors.Join(err, errors.New(words)))
}

// command returns the command without the settings of the operating system.
func (s startOptions) command(path string, args []string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.ExtraFiles = s.files
	cmd.Dir = s.dirs.home
	cmd.Env = []string{
		"HOME=" + s.dirs.home, "TMPDIR=" + s.dirs.temp, "XDG_RUNTIME_DIR=" + s.dirs.temp, "PATH=/nonexistent",
		"LANG=C.UTF-8",
		// Unix sockets can be reached from any network namespace.
		"DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent",
	}
	cmd.Stdout, cmd.Stderr = s.output, s.output
	cmd.WaitDelay = exitTimeout
	return cmd
}

// arguments returns the arguments for a Chromium that connects only to the proxy, and
// sends no other requests.
func arguments(proxy string, p *directories) []string {
	host, _, _ := net.SplitHostPort(proxy)
	return []string{
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + p.profile,
		"--window-size=" + strconv.Itoa(windowWidth) + "," + strconv.Itoa(windowHeight),
		// All connections use the proxy, also those to this machine. The proxy resolves names.
		"--proxy-server=http://" + proxy, "--proxy-bypass-list=<-loopback>;" + strings.Join(updateHosts, ";"),
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE " + host,
		"--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--disable-background-networking", "--disable-component-update",
		"--disable-component-extensions-with-background-pages",
		"--disable-domain-reliability", "--disable-sync", "--disable-default-apps", "--disable-extensions",
		"--no-pings",
		"--no-first-run", "--no-default-browser-check", "--no-service-autorun", "--disable-breakpad",
		"--disable-crash-reporter",
		"--disable-client-side-phishing-detection", "--safebrowsing-disable-auto-update",
		"--disable-search-engine-choice-screen",
		"--metrics-recording-only", "--media-router=0", "--dns-prefetch-disable",
		// Pages have no access to devices of the machine.
		"--deny-permission-prompts", "--disable-notifications", "--disable-speech-api", "--disable-print-preview",
		"--mute-audio",
		"--password-store=basic", "--use-mock-keychain", "--disable-gpu", "--disable-dev-shm-usage",
		"--hide-scrollbars",
		// Pages run as if they were visible.
		"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
		"--disable-renderer-backgrounding",
		"--disable-hang-monitor", "--disable-prompt-on-repost", "--disable-popup-blocking",
		"--force-color-profile=srgb", "--lang=en-US",
		"--disable-features=" + strings.Join([]string{
			"Translate", "OptimizationHints", "OptimizationGuideModelDownloading", "MediaRouter",
			"DialMediaRouteProvider", "GlobalMediaControls",
			"InterestFeedContentSuggestions", "CertificateTransparencyComponentUpdater", "AutofillServerCommunication",
			"PrivacySandboxSettings4",
			"Prerender2", "NoStatePrefetch", "SpeculationRulesPrefetchFuture", "LoadingPredictorPrefetch",
			"PreconnectToSearch", "NetworkTimeServiceQuerying",
			"DnsOverHttps", "AsyncDns", "HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable", "PaintHolding",
			"DestroyProfileOnBrowserClose",
			"WebUSB", "WebBluetooth", "WebOTP", "DirectSockets", "ExtensionManifestV2Unsupported", "BackForwardCache",
		}, ","),
		"about:blank",
	}
}

// updateHosts are hosts that Chromium requests updates from, even with updates disabled.
// They bypass the proxy, and so cannot be reached, because names are not resolved.
var updateHosts = []string{
	"update.googleapis.com", "clients2.google.com", "clients4.google.com", "safebrowsing.googleapis.com",
	"optimizationguide-pa.googleapis.com", "edgedl.me.gvt1.com", "redirector.gvt1.com",
}

// preferences returns settings that have no argument. The value 2 denies a permission.
func preferences() []byte {
	no := map[string]int{}
	for _, name := range []string{
		"geolocation", "notifications", "media_stream_mic", "media_stream_camera", "midi_sysex", "usb_guard",
		"bluetooth_guard", "bluetooth_scanning",
		"serial_guard", "hid_guard", "file_system_write_guard", "file_system_read_guard", "sensors", "idle_detection",
		"local_fonts", "clipboard",
		"window_placement", "storage_access", "payment_handler", "background_sync", "protocol_handler",
		"local_network_access", "local_network", "loopback_network",
	} {
		no[name] = 2
	}
	off := map[string]any{"enabled": false}
	text, err := json.Marshal(map[string]any{
		"profile": map[string]any{"default_content_setting_values": no,
			"password_manager_enabled": false},
		"webrtc": map[string]any{"ip_handling_policy": "disable_non_proxied_udp",
			"multiple_routes_enabled": false, "nonproxied_udp_enabled": false},
		"net":                        map[string]any{"network_prediction_options": 2},
		"safebrowsing":               off,
		"translate":                  off,
		"search":                     map[string]any{"suggest_enabled": false},
		"alternate_error_pages":      off,
		"credentials_enable_service": false,
		"autofill":                   map[string]any{"profile_enabled": false, "credit_card_enabled": false},
		"signin":                     map[string]any{"allowed": false},
		"download":                   map[string]any{"prompt_for_download": false},
		// the viewer is an extension, and extensions are disabled
		"plugins":             map[string]any{"always_open_pdf_externally": true},
		"enable_do_not_track": false,
	})
	if err != nil {
		return nil // constants always marshal
	}
	return text
}

// writePreferences writes the settings of a new profile.
func (p *directories) writePreferences() error {
	settings := filepath.Join(p.profile, "Default")
	if err := os.MkdirAll(settings, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(settings, "Preferences"), preferences(), 0o600)
}

// A tailBuffer keeps the last bytes that were written to it.
type tailBuffer struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 16 << 10

func (t *tailBuffer) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if extra := len(t.text) - maxTail; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(b), nil
}

func (t *tailBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// A deadlineWriter fails if the browser does not read a command in time.
type deadlineWriter struct{ *os.File }

func (p deadlineWriter) Write(b []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return p.File.Write(b)
}

// serve runs the proxy until ctx ends.
func serve(ctx context.Context, proxy Proxy, l net.Listener, all *sync.WaitGroup) {
	all.Go(func() { _ = proxy.Serve(ctx, l) }) // errors show in the browser
}
