package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	windowWidth  = 1280
	windowHeight = 800
	writeTimeout = 10 * time.Second // for writing a command
	exitTimeout  = 5 * time.Second  // for the process to exit after a failed start
)

// A chromium is a running Chromium.
type chromium struct {
	dirs    *directories
	process *program.Process
	proxy   net.Listener   // where the proxy of the browser listens
	from    *io.PipeReader // responses and events
}

// noSandbox starts Chromium without its own sandbox.
const noSandbox = "--no-sandbox"

// pipes starts Chromium with DevTools on the pipes 3 and 4, and limits the memory of each of its processes. A page
// with more crashes.
const pipes = `ulimit -d "$1" 2>/dev/null || :; shift; exec "$@" 3<&0 4>&1 </dev/null >&2`

// startChromium starts Chromium with new directories in home. prepare fills them. ctx bounds the start only.
func startChromium(
	ctx context.Context, o Options, home string, prepare func(context.Context, *directories) error,
) (*chromium, error) {
	path, err := findExecutable(o.Path)
	if err != nil {
		return nil, err
	}
	tier, err := tierFor(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &chromium{}
	if c.dirs, err = newDirectories(home); err != nil {
		return nil, fmt.Errorf("creating the directories of the browser: %w", err)
	}
	if err = prepare(ctx, c.dirs); err == nil {
		err = c.launch(ctx, o, tier, path)
	}
	if err != nil {
		return nil, errors.Join(err, c.dirs.remove())
	}
	return c, nil
}

// tierFor returns the sandbox of a browser. It is the host on systems that cannot isolate programs, and on Linux only if
// the operator allows it.
func tierFor(ctx context.Context, o Options) (*sandbox.Tier, error) {
	switch {
	case runtime.GOOS == "windows":
		return nil, tool.Errorf(tool.Unavailable, "a browser cannot be started on Windows").Try("use web_fetch")
	case runtime.GOOS != "linux" && os.Geteuid() == 0:
		return nil, tool.Errorf(tool.Unavailable, "a browser cannot be started as root").
			Try("use web_fetch; the operator can run the server as another user")
	case runtime.GOOS != "linux" || o.Insecure && CheckIsolation(ctx, o.Tiers) != nil:
		tier, _, err := o.Tiers.Choose(ctx, sandbox.Host)
		return tier, err
	}
	tier, err := isolation(ctx, o.Tiers)
	if err != nil {
		return nil, notIsolated(err)
	}
	return tier, nil
}

// notIsolated returns the error for the model if this system does not permit an isolated browser.
func notIsolated(err error) error {
	return tool.Errorf(tool.Unavailable, "no browser is started: the system does not permit its isolation").
		Try("use web_fetch; mcp-tools doctor shows the operator what to allow").Because(err)
}

// isolation returns the sandbox for an isolated browser: programs in it reach nothing but a proxy.
func isolation(ctx context.Context, tiers sandbox.Tiers) (*sandbox.Tier, error) {
	tier, _, err := tiers.Choose(ctx, sandbox.Local, sandbox.Network)
	if err != nil {
		return nil, err
	}
	if found := tier.Probe(ctx); !found.Proxy {
		return nil, tool.Errorf(tool.Unavailable, "%s", found.Text).Try("%s", found.Advice)
	}
	return tier, nil
}

// CheckIsolation returns an error if this system does not permit an isolated browser with the sandbox of Chromium. The
// error contains advice for the operator.
func CheckIsolation(ctx context.Context, tiers sandbox.Tiers) error {
	if runtime.GOOS != "linux" {
		return nil // browsers are not isolated there, so that no requirement can be missing
	}
	tier, err := isolation(ctx, tiers)
	if err == nil {
		err = (&program.Runner{Tiers: tiers}).Run(ctx,
			program.Spec{Argv: []string{"/bin/sh", "-c", ":"}, Tier: tier.Name(), Nested: true}, nil, nil)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	advice := "permit more user namespaces, and such within others"
	if known := (*tool.Error)(nil); errors.As(err, &known) && known.Next != "" {
		advice = known.Next
	}
	return tool.Errorf(tool.Unavailable, "a browser cannot be isolated on this system: %s", short(err.Error(), 400)).
		Try("%s", advice).Because(err)
}

// launch starts Chromium in a sandbox.
func (c *chromium) launch(ctx context.Context, o Options, tier *sandbox.Tier, path string) (err error) {
	network, address := "unix", filepath.Join(c.dirs.root, "proxy")
	if !tier.Isolates() { // all local processes can connect to its proxy
		network, address = "tcp4", "127.0.0.1:0"
	}
	if c.proxy, err = net.Listen(network, address); err != nil {
		return fmt.Errorf("listening for the proxy: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.proxy.Close())
		}
	}()
	user, err := c.dirs.assignUser(address)
	if err != nil {
		return err
	}
	command := []string{path}
	if o.Insecure && !tier.Isolates() {
		command = append(command, noSandbox)
	}
	proxy := strings.TrimPrefix(sandbox.ProxyURL, "http://")
	if !tier.Isolates() {
		proxy = c.proxy.Addr().String()
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if tier.Isolates() {
		command[0] = real // the path may be a link to a directory that is not shown
	}
	var output *io.PipeWriter
	c.from, output = io.Pipe()
	runner := program.Runner{Tiers: o.Tiers, Proxy: func(context.Context, []string) (string, func(), error) {
		return address, func() {}, nil
	}}
	c.process, err = runner.Start(ctx, program.Spec{
		Argv: slices.Concat([]string{"/bin/sh", "-c", pipes, "chromium", strconv.FormatInt(o.Memory>>10, 10)}, command,
			arguments(proxy, c.dirs)),
		Env: []string{
			"HOME=" + c.dirs.home, "TMPDIR=" + c.dirs.temp, "XDG_RUNTIME_DIR=" + c.dirs.temp, "PATH=/nonexistent",
			// Unix sockets can be reached from any network namespace.
			"DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent",
		},
		Tier: tier.Name(), Dir: c.dirs.home, Read: shownFiles(tier, real), Network: true, Nested: true, User: user,
		Limits: sandbox.Limits{Temp: maxTemp}, Input: true,
		Output: func(data []byte) { _, _ = output.Write(data) }, // an error means that the session is being closed
		Gone:   func(error) { _ = output.Close() },
	})
	if err != nil && ctx.Err() == nil && tier.Isolates() {
		return notIsolated(err)
	}
	return err
}

// maxTemp bounds the files that a browser stores in the sandbox's memory. Its own temporary files are on disk.
const maxTemp = 256 << 20

// shownFiles returns the files that a browser reads beside the system's programs: its own directory, the settings
// that the operator has made for all browsers, and the cache of fonts (without it each start reads all fonts).
func shownFiles(tier *sandbox.Tier, path string) (all []string) {
	if !tier.Layout(sandbox.Directories{}).Shows(path) {
		all = append(all, filepath.Dir(path))
	}
	for _, name := range []string{"/etc/chromium", "/etc/chromium-browser", "/etc/chromium.d", "/etc/opt/chrome",
		"/var/cache/fontconfig"} {
		if _, err := os.Stat(name); err == nil {
			all = append(all, name)
		}
	}
	return all
}

// close kills the browser, waits until it has ended, and deletes its files.
func (c *chromium) close() error {
	err := c.from.Close() // else the process could wait for its output to be read
	return errors.Join(err, c.process.Kill(), c.dirs.remove())
}

// explain ends a browser that failed to start, and returns an error with the cause from
// its output.
func (c *chromium) explain(err error) error {
	wait := time.NewTimer(exitTimeout)
	defer wait.Stop()
	select { // Chromium prints the cause before it exits
	case <-c.process.Done():
	case <-wait.C:
	}
	err = errors.Join(err, c.process.Kill())
	words := c.process.Words()
	if strings.Contains(words, "No usable sandbox") || strings.Contains(words, "sandbox_host_linux") ||
		strings.Contains(words, "Failed to move to new namespace") {
		return tool.Errorf(tool.Unavailable, "Chromium is not started: the system does not permit its sandbox").
			Try("use web_fetch; the operator can allow user namespaces, or a browser without a sandbox").
			Because(errors.New(words))
	}
	return tool.Errorf(tool.Unavailable, "the browser did not start").Try("try again, or use web_fetch").
		Because(errors.Join(err, errors.New(words)))
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

// commands writes commands to a browser. It fails if the browser does not read them in time.
type commands struct{ *program.Process }

func (c commands) Write(b []byte) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	if err := c.Process.Write(ctx, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// serve runs the proxy until ctx ends.
func serve(ctx context.Context, proxy Proxy, l net.Listener, all *sync.WaitGroup) {
	all.Go(func() { _ = proxy.Serve(ctx, l) }) // errors show in the browser
}
