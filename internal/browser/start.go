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
	writeTimeout = 10 * time.Second // for a browser to take a command
	exitTimeout  = 5 * time.Second  // for one that did not come up to end
)

// A program is a Chromium that runs.
type program struct {
	dirs   *directories
	cgroup *cgroup
	listen net.Listener // lookup its proxy
	to     *os.File     // commands
	from   *os.File     // answers
	output *tailBuffer  // what it says to people
	kill   func()       // kills it, and all that it has started
	done   chan struct{}
}

// A startOptions is what a system needs to know to start a Chromium.
type startOptions struct {
	path     string
	dirs     *directories
	args     func(proxy string) []string
	insecure bool       // it may be without what keeps it apart, and without its sandbox
	files    []*os.File // that it gets as 3 and 4
	output   io.Writer
}

// noSandbox starts a Chromium without its own sandbox.
const noSandbox = "--no-sandbox"

// startProgram starts a Chromium in a new place beneath home.
func startProgram(o Options, home string) (*program, error) {
	path, err := findExecutable(o.Path)
	if err != nil {
		return nil, err
	}
	p := &program{output: &tailBuffer{}, done: make(chan struct{})}
	if p.dirs, err = newDirectories(home); err != nil {
		return nil, fmt.Errorf("a place for the browser: %w", err)
	}
	p.cgroup = newCgroup(filepath.Base(p.dirs.root), o.Memory)
	if err := p.launch(startOptions{
		path: path, dirs: p.dirs, output: p.output, insecure: o.Insecure,
		args: func(proxy string) []string { return arguments(proxy, p.dirs) },
	}); err != nil {
		return nil, errors.Join(err, p.cgroup.remove(), p.dirs.remove())
	}
	return p, nil
}

// launch starts it, with DevTools on a pair of pipes.
func (p *program) launch(s startOptions) error {
	hears, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer hears.Close()
	from, says, err := os.Pipe()
	if err != nil {
		return errors.Join(err, to.Close())
	}
	defer says.Close()
	p.to, p.from = to, from
	s.files = []*os.File{hears, says}
	if err := p.run(s); err != nil {
		return errors.Join(err, to.Close(), from.Close())
	}
	return nil
}

// close kills it and removes what it has left. It returns when all is gone.
func (p *program) close() error {
	p.kill()
	<-p.done
	return errors.Join(p.to.Close(), p.from.Close(), p.cgroup.remove(), p.dirs.remove())
}

// explain ends it and says why it did not come up: all of its last words are
// there then.
func (p *program) explain(err error) error {
	wait := time.NewTimer(exitTimeout)
	defer wait.Stop()
	select { // a program that gives up says why before it ends
	case <-p.done:
	case <-wait.C:
	}
	p.kill()
	<-p.done
	words := p.output.String()
	if strings.Contains(words, "No usable sandbox") || strings.Contains(words, "sandbox_host_linux") ||
		strings.Contains(words, "Failed to move to new namespace") {
		return tool.Errorf(tool.Unavailable, "the system gives Chromium no sandbox, and without one it is not started").
			Try("use web_fetch; the operator can allow user namespaces, or a browser without a sandbox").Because(errors.New(words))
	}
	return tool.Errorf(tool.Unavailable, "the browser did not start").Try("try again, or use web_fetch").
		Because(errors.Join(err, errors.New(words)))
}

// command is what starts it, but for what each system adds.
func (s startOptions) command(path string, args []string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.ExtraFiles = s.files
	cmd.Dir = s.dirs.home
	cmd.Env = []string{
		"HOME=" + s.dirs.home, "TMPDIR=" + s.dirs.temp, "XDG_RUNTIME_DIR=" + s.dirs.temp, "PATH=/nonexistent",
		"LANG=C.UTF-8",
		// There is a way out of a network of one's own: sockets that are files.
		"DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent",
	}
	cmd.Stdout, cmd.Stderr = s.output, s.output
	cmd.WaitDelay = exitTimeout
	return cmd
}

// arguments make a Chromium that asks nobody but the proxy for anything, and
// says nothing by itself.
func arguments(proxy string, p *directories) []string {
	host, _, _ := net.SplitHostPort(proxy)
	return []string{
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + p.profile,
		"--window-size=" + strconv.Itoa(windowWidth) + "," + strconv.Itoa(windowHeight),
		// The network is the proxy, for names, too, and for this machine.
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
		// Nothing of the machine is a page's business.
		"--deny-permission-prompts", "--disable-notifications", "--disable-speech-api", "--disable-print-preview",
		"--mute-audio",
		"--password-store=basic", "--use-mock-keychain", "--disable-gpu", "--disable-dev-shm-usage",
		"--hide-scrollbars",
		// Pages run as if somebody looked at them.
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

// updateHosts are hosts that Chromium asks for updates of its own, whatever it is
// told. They are not asked through the proxy, and so not at all: there is no
// other way to find where they are.
var updateHosts = []string{
	"update.googleapis.com", "clients2.google.com", "clients4.google.com", "safebrowsing.googleapis.com",
	"optimizationguide-pa.googleapis.com", "edgedl.me.gvt1.com", "redirector.gvt1.com",
}

// preferences refuse for a profile what there is no argument for. 2 is no.
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
		// its viewer is an extension, which none may be
		"plugins":             map[string]any{"always_open_pdf_externally": true},
		"enable_do_not_track": false,
	})
	if err != nil {
		return nil // constants always marshal
	}
	return text
}

// writePreferences puts what a new profile begins with into it.
func (p *directories) writePreferences() error {
	settings := filepath.Join(p.profile, "Default")
	if err := os.MkdirAll(settings, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(settings, "Preferences"), preferences(), 0o600)
}

// A tailBuffer keeps the end of what is written to it.
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

// deadlineWriter gives up on a browser that takes no commands.
type deadlineWriter struct{ *os.File }

func (p deadlineWriter) Write(b []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return p.File.Write(b)
}

// serve lets the browser out through its proxy, until ctx ends.
func serve(ctx context.Context, proxy Proxy, l net.Listener, all *sync.WaitGroup) {
	all.Go(func() { _ = proxy.Serve(ctx, l) }) // what it could not do, the browser has seen
}
