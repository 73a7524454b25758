package page

import "testing"

// TestAFewWordsInADoubleByteEncoding has tables as spreadsheets in Japan and China write them.
func TestAFewWordsInADoubleByteEncoding(t *testing.T) {
	for _, test := range []struct{ data, want string }{
		{"\x96\xBC\x91O,\x94N\x97\xEE\n\x8ER\x93c\x91\xBE\x98Y,34\n", "名前,年齢\n山田太郎,34\n"},
		{"\xD0\xD5\xC3\xFB,\xC4\xEA\xC1\xE4\n\xD5\xC5\xCE\xB0,34\n", "姓名,年龄\n张伟,34\n"},
		{"Name,Gr\xF6\xDFe\nM\xFCller,1\n", "Name,Größe\nMüller,1\n"},
	} {
		if got := Decode([]byte(test.data), ""); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
