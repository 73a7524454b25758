// Package tricktest has hosts and URLs of attacks on this machine or its network: addresses in
// unusual notations, names with private addresses, URLs that programs parse in different ways.
// Everything that connects to untrusted hosts is tested with all of them. Begin with [URLs].
package tricktest

import "strings"

// tricks are hosts for such attempts. Names are followed by their address.
const tricks = `
127.0.0.1 127.0.0.1. 127.1 127.0.1 127.0.0.01 127.0.0.001 127.000.000.001 127.0.0.2 127.255.255.255
2130706433 02130706433 017700000001 0x7f000001 0X7F000001 0x7f.1 0x7f.0.0.1 0x7f.0x0.0x0.0x1 0177.0.0.1 0177.0.0.0x1
0177.0x0.1 00000177.0.0.1
127.0.0.1.0 127.0.0.256 256.256.256.256 1.2.3 0x 0x. 127.0.0.0x1 4294967297 127..0.1 .127.0.0.1 127.0.0.1..
0 0.0.0.0 0x0 00 0.0 000.000.000.000 0.0.0.0. 0.1.2.3
10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255 100.64.0.1 100.127.255.255
169.254.169.254 169.254.0.1 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 100.100.100.200 168.63.129.16
192.0.0.192
192.0.0.1 192.0.0.170 192.0.2.1 198.51.100.1 203.0.113.1 198.18.0.1 198.19.255.255 192.88.99.1
224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 0:0:0:0:0:0:0:1 0000:0000:0000:0000:0000:0000:0000:0001 ::0001 ::127.0.0.1 ::7f00:1
::ffff:127.0.0.1 ::ffff:7f00:1 ::FFFF:127.0.0.1 0:0:0:0:0:ffff:127.0.0.1 ::ffff:0:127.0.0.1 ::ffff:8.8.8.8
::ffff:169.254.169.254
64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1 2002:7f00:1:: 2002:a9fe:a9fe:: 2001:0:7f00:1:: 2001::1 2001:10::1
2001:db8::1
fe80::1 fe80::1%lo fe80::1%25lo ::1%lo 2606:4700::1%eth0 fec0::1 fc00::1 fd00::1 fd00:ec2::254 fd20:ce::254 ff02::1
100::1 3fff::1 5f00::1 4000::1
2606:4700::5efe:7f00:1 2606:4700::200:5efe:10.0.0.1 ::5efe:127.0.0.1
localhost LOCALHOST localhost. LocalHost. localhost.localdomain a.localhost x.y.localhost. ip6-localhost broadcasthost
metadata metadata.google.internal METADATA.GOOGLE.INTERNAL. instance-data.ec2.internal
kubernetes.default.svc.cluster.local printer.local router.lan
host.docker.internal gateway.docker.internal intranet db nas.home router.home.arpa wiki.corp
127.0.0.1.nip.io=127.0.0.1 app.127-0-0-1.sslip.io=127.0.0.1 localtest.me=127.0.0.1 lvh.me=::1
meta.nip.io=169.254.169.254 ten.example.com=10.0.0.1
mapped.example.com=::ffff:127.0.0.1 nat64.example.com=64:ff9b::7f00:1 sixtofour.example.com=2002:7f00:1::
zero.example.com=0.0.0.0 six-zero.example.com=::
ula.example.com=fd00:ec2::254 bench.example.com=198.18.0.7 cgnat.example.com=100.100.100.200
azure.example.com=168.63.129.16 trailing.example.com.=127.0.0.1
１２７.0.0.1 127。0。0。1 127．0．0．1 ①②⑦.0.0.1 ⑯⑨.254.169.254 ｌｏｃａｌｈｏｓｔ loc\u00adalhost ⓛocalhost 127.0.0\u00ad.1 0ｘ7f.1
localhost\u3002
user@127.0.0.1 example.com@127.0.0.1 127.0.0.1#example.com 127.0.0.1?x 127.0.0.1/ example.com\x00.127.0.0.1
127.0.0.1\x00.example.com
127.0.0.1%00 %31%32%37.0.0.1 127.0.0.1\t \\127.0.0.1 127.0.0.1\\ [::1] [127.0.0.1] exa\u0000mple.com
example.com\r\nX:y -a.example.com a-.example.com a..example.com
\xff.example.com \u202e1.0.0.721 xn--a.\u0131.localhost \u2024\u2024 ..`

func unquote(text string) string {
	return strings.NewReplacer(`\x00`, "\x00", `\u0000`, "\x00", `\xff`, "\xff", `\t`, "\t", `\r\n`, "\r\n", `\u00ad`,
		"\u00ad", `\u3002`, "\u3002",
		`\u202e`, "\u202e", `\u0131`, "\u0131", `\u2024`, "\u2024", `\\`, `\`).Replace(text)
}

// Hosts returns the hosts, and the addresses that a resolver should return for them. Most
// should never be looked up.
func Hosts() (hosts []string, answers map[string][]string) {
	answers = map[string][]string{}
	for _, text := range strings.Fields(tricks) {
		host, addr, named := strings.Cut(text, "=")
		host = unquote(host)
		hosts = append(hosts, host)
		if !named {
			addr = "127.0.0.1" // in case it is looked up
		}
		answers[strings.TrimSuffix(strings.ToLower(host), ".")] = []string{addr}
	}
	return append(hosts, "", " ", strings.Repeat("a", 64)+".example.com", strings.Repeat("a.", 127)+"com",
		strings.Repeat("1.", 2000)+"1"), answers
}

// urls are URLs that may reach PORT of this machine.
const urls = `
http://example.com@127.0.0.1:PORT/ http://example.com:80@127.0.0.1:PORT/ http://127.0.0.1:PORT@example.com/
http://user:pass@example.com/ http://@127.0.0.1:PORT/ http://:@example.com/
http://example.com\@127.0.0.1:PORT/ http://127.0.0.1:PORT\@example.com/ http:\\127.0.0.1:PORT/
http:/\127.0.0.1:PORT/ \\127.0.0.1:PORT/ http://example.com\.127.0.0.1:PORT/
http:127.0.0.1:PORT http:/127.0.0.1:PORT http:///127.0.0.1:PORT/ http:////127.0.0.1:PORT/ //127.0.0.1:PORT/
127.0.0.1:PORT ///127.0.0.1:PORT/
http://127.0.0.1:PORT%00.example.com/ http://127.0.0.1%00:PORT/ http://127.0.0.1%09:PORT/ http://127.0.0.1%20:PORT/
http://example.com%2f@127.0.0.1:PORT/ http://%31%32%37.0.0.1:PORT/ http://%6cocalhost:PORT/
http://127.0.0.1{TAB}:PORT/ http://{TAB}127.0.0.1:PORT/ http://127.0.0.1{NUL}:PORT/ http://127.0.0.1:PORT{NL}/
http://example.com/{NL}Host:x http://127.0.0.1:PORT/{CR}{NL}X:y ht{TAB}tp://127.0.0.1:PORT/
http://127.0.0.1#@example.com:PORT/ http://127.0.0.1?@example.com:PORT/ http://[::1]@example.com:PORT/
http://example.com@[::1]:PORT/ http://[::1]:PORT:80/ http://[::1]PORT/ http://::1:PORT/ http://[::1%25lo]:PORT/
http://[127.0.0.1]:PORT/ http://[::ffff:127.0.0.1]:PORT/
http://localhost:PORT:80/ http://localhost:0/ http://127.0.0.1:-1/ http://127.0.0.1:99999/ http://127.0.0.1:PORTx/
http://127.0.0.1:0xPORT/ http://127.0.0.1:+PORT/ http://127.0.0.1:%50/
HTTP://LOCALHOST:PORT/ hTTps://127.0.0.1:PORT/ ftp://127.0.0.1:PORT/ file:///etc/passwd file://127.0.0.1/etc/passwd
gopher://127.0.0.1:PORT/_x dict://127.0.0.1:PORT/ ws://127.0.0.1:PORT/ unix:///run/x.sock javascript:1
data:text/html,x about:blank jar:http://127.0.0.1:PORT/ view-source:http://127.0.0.1:PORT/
blob:http://127.0.0.1:PORT/
http://１２７.0.0.1:PORT/ http://127。0。0。1:PORT/ http://127.0.0.1。:PORT/ http://ⓛocalhost:PORT/
http://localhost%E3%80%82:PORT/ http://%E2%91%A0%E2%91%A1%E2%91%A6.0.0.1:PORT/ http://127.0.0.1%E2%80%8B:PORT/
http:// http://: http://:PORT/ https:///x http://./ http://../ http://%/ http://[/ http://]/
http://example.com:PORT:/ mailto:x@127.0.0.1`

func replace(text, port string) string {
	return strings.NewReplacer("PORT", port, "{TAB}", "\t", "{NUL}", "\x00", "{NL}", "\n", "{CR}", "\r").Replace(text)
}

// URLs returns URLs for a port of this machine, also for all of Hosts, and the addresses
// that a resolver should return for their hosts.
func URLs(port string) (all []string, answers map[string][]string) {
	hosts, answers := Hosts()
	for _, host := range hosts {
		if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
			host = "[" + host + "]"
		}
		all = append(all, "http://"+host+":"+port+"/secret", "https://"+host+":"+port+"/secret")
	}
	for _, text := range strings.Fields(urls) {
		all = append(all, replace(text, port))
	}
	answers["example.com"] = []string{"127.0.0.1"}
	return all, answers
}
