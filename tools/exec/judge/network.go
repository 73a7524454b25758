package judge

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// curlValues are the letters of curl whose option takes a value.
const curlValues = "AbcCdDeEFHhKmoPQrtTuUwxXyYz"

// curl judges curl: what it sends, where it saves, and what it reads.
func curl(j *judge, s *scope, c call) stream {
	args := c.rest()
	local := onlyLocal(args)
	for i := 0; i < len(args); i++ {
		a := args[i]
		name, value := a.text, a
		if i+1 < len(args) {
			value = args[i+1]
		}
		if strings.HasPrefix(name, unknown) && a.wild {
			j.raise(tool.Runs, "cannot be told before it runs: arguments of curl")
		}
		if len(name) > 1 && name[0] == '-' && name[1] != '-' {
			for n := 1; n < len(name); n++ {
				if strings.IndexByte(curlValues, name[n]) < 0 {
					continue
				}
				if n+1 < len(name) {
					value = a
					value.text = name[n+1:]
				} else {
					i++
				}
				name = "-" + name[n:n+1]
				break
			}
		}
		j.curlOption(s, name, value, local)
		j.address(a)
	}
	j.reaches("asks another machine: " + shorten(joinArgs(args).shown()))
	return stream{from: anyText, taint: fromNetwork}
}

func (j *judge) curlOption(s *scope, name string, value arg, local bool) {
	long, given, has := strings.Cut(name, "=")
	if has {
		value.text = given
	}
	switch {
	case name == "-o" || long == "--output" || name == "-D" || name == "-c" || long == "--dump-header" || long == "--trace" || long == "--cookie-jar" || long == "--trace-ascii" || long == "--output-dir":
		j.write(s, value, "saves to")
		j.wrote(s, value, stream{from: anyText, taint: fromNetwork})
	case name == "-K" || long == "--config":
		j.opaque("settings of curl from " + value.shown())
	case long == "--unix-socket" || long == "--abstract-unix-socket":
		j.raise(tool.Runs, "talks to the socket "+value.shown())
	case name == "-X" || long == "--request":
		if m := strings.ToUpper(value.text); m != "GET" && m != "HEAD" && m != "OPTIONS" {
			j.sends(value.shown(), local)
		}
	case name == "-T" || name == "-F" || name == "-d" || strings.HasPrefix(long, "--data") || strings.HasPrefix(long, "--form") || strings.HasPrefix(long, "--upload") || long == "--json" || long == "--url-query":
		j.sends(name, local)
		if at := strings.IndexByte(value.text, '@'); at >= 0 && name != "-T" {
			file := value
			file.text = value.text[at+1:]
			j.read(s, file)
		} else if name == "-T" {
			j.read(s, value)
		}
	}
}

// sends notes that data leaves. Behind walls a local address is one of the
// caller's own servers.
func (j *judge) sends(how string, local bool) {
	if j.req.Sealed && local {
		j.raise(tool.Writes, "sends data: "+how)
		return
	}
	j.hit(upload, how)
}

// onlyLocal reports whether the only addresses named are of this machine.
func onlyLocal(args []arg) bool {
	local := false
	for _, a := range args {
		text := strings.TrimPrefix(strings.TrimPrefix(a.text, "http://"), "https://")
		host, _, _ := strings.Cut(text, "/")
		host, _, _ = strings.Cut(host, ":")
		switch {
		case host == "localhost" || host == "127.0.0.1":
			local = true
		case strings.Contains(a.text, "://") || strings.Contains(host, ".") && !strings.HasPrefix(a.text, "-") && !strings.ContainsAny(a.text, " {\"@"):
			return false
		}
	}
	return local
}

// address looks at where a request goes.
func (j *judge) address(a arg) {
	text := strings.ToLower(a.text)
	for _, host := range []string{"169.254.169.254", "metadata.google.internal", "100.100.100.200", "[fd00:ec2::254]", "2852039166", "0xa9fea9fe"} {
		if strings.Contains(text, host) {
			j.hit(metadata, a.shown())
		}
	}
	if strings.HasPrefix(text, "file:") {
		j.raise(tool.Runs, "reads a file by its address: "+a.shown())
	}
}

func wget(j *judge, s *scope, c call) stream {
	args := c.rest()
	out := stream{from: exactly}
	for i, a := range args {
		name, text, given := strings.Cut(a.text, "=")
		value := a
		value.text = text
		if !given && i+1 < len(args) {
			value = args[i+1]
		}
		j.address(a)
		switch {
		case strings.HasPrefix(name, "--post") || strings.HasPrefix(name, "--body") || name == "--method":
			j.sends(a.shown(), onlyLocal(args))
		case name == "--use-askpass" || name == "-e" || name == "--execute" || name == "--config":
			j.hit(helper, "wget "+a.shown())
		case len(name) > 1 && name[0] == '-' && name[1] != '-' && strings.Contains(name, "O") || name == "--output-document":
			if at := strings.IndexByte(name, 'O'); at >= 0 && at+1 < len(name) && name[1] != '-' {
				value.text = name[at+1:]
			}
			if value.is("-") || value.is("/dev/stdout") {
				out = stream{from: anyText, taint: fromNetwork}
				continue
			}
			j.write(s, value, "saves to")
			j.wrote(s, value, stream{from: anyText, taint: fromNetwork})
		case name == "-P" || name == "--directory-prefix" || name == "-o" || name == "-a" || name == "--output-file":
			j.copiesTo(s, []arg{value})
		}
		if at := strings.LastIndexByte(a.text, '/'); at > 0 && strings.Contains(a.text, "://") && a.text[at+1:] != "" {
			j.wrote(s, literal(a.text[at+1:]), stream{from: anyText, taint: fromNetwork})
		}
	}
	j.reaches("fetches from another machine: " + shorten(joinArgs(args).shown()))
	return out
}

// netcat judges nc, ncat and socat.
func netcat(j *judge, s *scope, c call) stream {
	opts, operands := flags(c.rest())
	shell := hasFlag(opts, "--exec", "--sh-exec", "--lua-exec") || c.name() != "socat" && (hasLetter(opts, "e") || hasLetter(opts, "c"))
	for _, a := range operands {
		upper := strings.ToUpper(a.text)
		shell = shell || c.name() == "socat" && containsAny(upper, "EXEC:", "SYSTEM:", "SHELL:", "PTY")
	}
	if shell {
		j.hit(remoteHand, joinArgs(c.args).shown())
	}
	j.hit(rawSocket, joinArgs(c.args).shown())
	return stream{from: anyText, taint: fromNetwork}
}

// ssh judges ssh: its options, and what runs at the other end.
func ssh(j *judge, s *scope, c call) stream {
	p := options{short: "46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:p:P:Q:R:S:W:w:", first: true}.parse(c.rest())
	if p.unknown != "" {
		j.opaque("option " + p.unknown + " of ssh")
	}
	if p.has("V") {
		return stream{}
	}
	for _, o := range p.values("o") {
		if name := strings.ToLower(o.text); strings.HasPrefix(name, "proxycommand") || strings.HasPrefix(name, "localcommand") || strings.HasPrefix(name, "permitlocal") || strings.HasPrefix(name, "knownhostscommand") || strings.HasPrefix(name, "match") {
			j.hit(helper, "ssh -o "+o.shown())
			if _, text, ok := strings.Cut(o.text, "="); ok {
				j.glimpse(text)
			}
		}
	}
	if p.has("R", "D", "w") {
		j.hit(tunnel, "ssh "+joinArgs(c.rest()).shown())
	}
	j.hit(remote, joinArgs(c.args).shown())
	if len(p.operands) > 1 {
		j.glimpse(joinArgs(p.operands[1:]).text)
	}
	return stream{from: anyText, taint: fromNetwork}
}

// scp judges scp and sftp.
func scp(j *judge, s *scope, c call) stream {
	opts, operands := flags(c.rest())
	if hasLetter(opts, "S") || hasLetter(opts, "o") {
		j.hit(helper, joinArgs(c.args).shown())
	}
	j.hit(remote, joinArgs(c.args).shown())
	for _, a := range operands {
		if !strings.Contains(a.text, ":") {
			j.read(s, a)
		}
	}
	return stream{}
}

// openssl judges openssl by its command.
func openssl(j *judge, s *scope, c call) stream {
	args := c.rest()
	if len(args) == 0 {
		return stream{}
	}
	switch args[0].text {
	case "s_client", "s_server":
		j.hit(rawSocket, joinArgs(c.args).shown())
		return stream{from: anyText, taint: fromNetwork}
	case "enc", "base64", "aes-256-cbc", "smime", "cms", "pkeyutl", "rsautl":
		t := s.in.taint
		if hasFlag(args, "-d", "-decrypt") {
			t |= fromDecoder
		}
		if args[0].is("base64") || hasFlag(args, "-base64") && hasFlag(args, "-d") {
			if text, ok := base64Text([]arg{literal("-d")}, s.in.text); ok && s.in.from == exactly && hasFlag(args, "-d") {
				return stream{from: exactly, text: text}
			}
		}
		j.opensslFiles(s, args)
		return stream{from: anyText, taint: t}
	case "version", "x509", "verify", "rand", "dgst", "sha256", "md5", "list", "ciphers", "asn1parse", "prime", "passwd", "speed", "help":
	case "req", "genrsa", "genpkey", "rsa", "ec", "ecparam", "pkcs12", "pkey", "dhparam", "ca":
		j.raise(tool.Writes, "makes keys or certificates")
	default:
		j.raise(tool.Runs, "runs openssl "+args[0].shown())
	}
	if hasFlag(args, "-engine", "-provider", "-provider-path") {
		j.hit(helper, joinArgs(c.args).shown())
	}
	j.opensslFiles(s, args)
	return stream{}
}

func (j *judge) opensslFiles(s *scope, args []arg) {
	for i, a := range args[:len(args)-1] {
		switch a.text {
		case "-out", "-keyout", "-writerand":
			j.write(s, args[i+1], "writes to")
		case "-in", "-inkey", "-key":
			j.read(s, args[i+1])
		}
	}
}
