package mail

import "testing"

// TestDamagedMails checks what is read of mails that break the rules, as many do.
func TestDamagedMails(t *testing.T) {
	const head = "From: a@example.org\r\nTo: b@example.org\r\n"
	for _, test := range []struct{ name, mail, subject, text string }{
		{"charset of DOS", head + "Subject: =?cp850?Q?Gr=81=E1e?=\r\nContent-Type: text/plain; charset=IBM850\r\n\r\n" +
			"Gr\x81\xe1e\r\n", "Grüße", "Grüße"},
		{"HTML of DOS", head + "Content-Type: text/html; charset=cp437\r\n\r\n<p>Gr\x81\xe1e</p>\r\n", "", "Grüße"},
		{"charset that there is not", head + "Subject: s\r\nContent-Type: text/plain; charset=x-none\r\n\r\nGr\xc3\xbc\xc3\x9fe",
			"s", "Grüße"},
		{"charset that is wrong", head + "Subject: Gr\xfc\xdfe\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\n\xfcber",
			"Grüße", "über"},
		{"Windows under another name", head + "Content-Type: text/plain; charset=iso-8859-1\r\n\r\n\x93a\x94 \x80 5", "",
			"“a” € 5"},
		{"line that is no field", "From: a@example.org\r\nno field\r\nSubject: s\r\n\r\nHello", "s", "Hello"},
		{"name with a space", "From: a@example.org\r\nX Y: z\r\nSubject: s\r\n\r\nHello", "s", "Hello"},
		{"lines before the header", "\r\n\r\n" + head + "Subject: s\r\n\r\nHello", "s", "Hello"},
		{"base64 with other bytes", head + "Content-Transfer-Encoding: base64\r\n\r\nSGVsbG8g\r\n!!*\r\nd29ybGQh\r\n", "",
			"Hello world!"},
		{"boundary within its own", head + "Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n" +
			"Content-Type: multipart/alternative; boundary=x\r\n\r\n--x\r\n\r\nHello\r\n--x--\r\n--x--\r\n", "", "Hello"},
		{"type twice", head + "Content-Type: text/html; charset=utf-8; charset=utf-8\r\n\r\n<p>Gr\xc3\xbc</p>", "", "Grü"},
	} {
		l, err := Parse(t.Context(), []byte(test.mail))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if l.Subject != test.subject || l.Text != test.text {
			t.Errorf("%s: %q, %q; want %q, %q", test.name, l.Subject, l.Text, test.subject, test.text)
		}
	}
}
