package text

import (
	"testing"

	"golang.org/x/text/encoding/htmlindex"
)

func TestEastAsian(t *testing.T) {
	for _, test := range []struct{ encoding, text, want string }{
		{"shift_jis", "名前,年齢,住所\n山田太郎,34,東京都\n鈴木花子,28,大阪府\n", "shift_jis"},
		{"shift_jis", "日付,商品コード,数量\n", "shift_jis"},
		{"gb18030", "姓名,年龄,城市\n张伟,34,北京\n李娜,28,上海\n", "gb18030"},
		{"big5", "姓名,年齡,城市\n張偉,34,臺北\n", "big5"},
		{"euc-jp", "名前,ふりがな\n山田太郎,やまだ\n", "euc-jp"},
		{"euc-kr", "이름,나이,도시\n김철수,34,서울\n이영희,28,부산\n", "euc-kr"},
		{"euc-kr", "한국어로 쓴 문서입니다. 줄마다 다릅니다.", "euc-kr"},
		{"gb18030", "北京的冬天很冷,公共汽车", "gb18030"},
		{"gb18030", "编号,产品,单价\n白菜,包子,大米,茶", "gb18030"},
		{"windows-1252", "Name,Größe,Ort\nMüller,1,Köln\nGößl,2,Fürth\n", ""},
		{"windows-1252", "it’s, don’t, “Apple” costs 5 €", ""},
		{"windows-1252", "it’s a dog’s life, isn’t it", ""},
		{"windows-1252", "déjà vu, à la carte, garçon, Noël", ""},
		{"windows-1251", "Имя,Возраст,Город\nИван,34,Москва\n", ""},
		{"windows-1251", "Москва", ""},
		{"koi8-r", "Имя,Возраст,Город\nИван,34,Москва\n", ""},
		{"iso-8859-7", "Όνομα,Ηλικία\nΓιάννης,34\n", ""},
		{"utf-8", "plain ASCII", ""},
	} {
		e, err := htmlindex.Get(test.encoding)
		if err != nil {
			t.Fatal(err)
		}
		data, err := e.NewEncoder().Bytes([]byte(test.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := EastAsian(data); got != test.want {
			t.Errorf("%s %q: %q, want %q", test.encoding, test.text, got, test.want)
		}
	}
}
