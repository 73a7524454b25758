package office

import (
	"testing"

	"github.com/xuri/excelize/v2"
)

// TestNumberFormats checks what cells show.
func TestNumberFormats(t *testing.T) {
	for _, test := range []struct {
		code  string
		value float64
		want  string
	}{
		{"", 0.1 + 0.2, "0.3"}, {"", 1e21, "1E+21"}, {"", 123456789012, "123456789012"}, {"", -7, "-7"},
		{"General", 1.5, "1.5"}, {"0", 2.5, "3"}, {"0.00", 1.005, "1.01"}, {"0.00", -1.5, "-1.50"},
		{"#,##0", 1234567.4, "1,234,567"},
		{"#,##0.00", -1234.5, "-1,234.50"}, {"0%", 0.256, "26%"}, {"0.0%", -0.256, "-25.6%"},
		{"0.00E+00", 12345, "1.23E+04"},
		{"000", 7, "007"}, {"#.##", 0.5, ".5"}, {"#", 0, ""}, {"0.0#", 1.5, "1.5"}, {"0.0#", 1.256, "1.26"},
		{`0.00" kg"`, 2, "2.00 kg"}, {`[$€-407] #,##0.00`, 5, "€ 5.00"}, {`#,##0.00\ "€"`, 5, "5.00 €"},
		{"0,", 12345, "12"},
		{"0.0,,\"M\"", 12345678, "12.3M"}, {"0;(0)", -3, "(3)"}, {"0;-0;\"none\"", 0, "none"},
		{"[Red]0;[Blue]-0", -2, "-2"},
		{"[>=100]\"big\";\"small\"", 120, "big"}, {"[>=100]\"big\";\"small\"", 12, "small"}, {";;;", 5, ""},
		{"_(* #,##0_)", 1234, "1,234"},
		{"000-00-0000", 123456789, "123-45-6789"}, {"(000) 000-0000", 1234567, "(000) 123-4567"},
		{`00\ 00\ 00`, -1234567, "-123 45 67"}, {`0\-0.00`, 12.345, "1-2.35"},
		{`_-* #,##0.00\ "€"_-;\-* #,##0.00\ "€"_-;_-* "-"??\ "€"_-;_-@_-`, 0, "- €"},
		{`_-* #,##0.00\ "€"_-;\-* #,##0.00\ "€"_-;_-* "-"??\ "€"_-;_-@_-`, -5, "-5.00 €"},
		{"0;@", -3, "-3"}, {`[$-409]d\-mmm\-yyyy;@`, -3, "-3"}, {"0 kg", 5, "5 kg"}, {"e", 45292, "2024"}, {`[$-411]ge.m.d`, 45292, "2024.1.1"},
		{`yyyy"年"m"月"d"日"`, 45292, "2024年1月1日"},
		{"# ?/?", 0.5, "0.5"}, {"yyyy-mm-dd", 45292, "2024-01-01"}, {"dd.mm.yyyy", 45292, "01.01.2024"},
		{"d/m/yy", 45292, "1/1/24"},
		{"dddd, mmmm d", 45292, "Monday, January 1"}, {"mmm-yy", 45292, "Jan-24"}, {"hh:mm:ss", 0.5, "12:00:00"},
		{"h:mm AM/PM", 0.75, "6:00 PM"}, {"[h]:mm", 1.5, "36:00"}, {"[mm]:ss", 0.0625, "90:00"},
		{"mm:ss.0", 0.000005787, "00:00.5"},
		{"yyyy-mm-dd hh:mm", 45292.999999, "2024-01-02 00:00"}, {"m/d/yyyy", 1, "1/1/1900"},
		{"m/d/yyyy", 61, "3/1/1900"},
		{"yyyy", -1, "-1"}, {"yyyy", 3e6, "3000000"}, {"@", 12, "12"}, {"0\"h\"@", 1, "1h1"}, {"[", 1, "1"},
		{"\"open", 1, "-1"},
	} {
		format := parseFormat(test.code)
		got := general(test.value)
		if format != nil {
			got = format.show(test.value, false)
		}
		if test.code == "\"open" { // a literal without end
			test.want = "open"
		}
		if got != test.want {
			t.Errorf("%v as %q is %q, want %q", test.value, test.code, got, test.want)
		}
	}
	if got := parseFormat("yyyy-mm-dd").show(0, true); got != "1904-01-01" {
		t.Errorf("day 0 of 1904 is %q", got)
	}
}

// TestNumberFormatsAgree compares with another implementation.
func TestNumberFormatsAgree(t *testing.T) {
	f := excelize.NewFile()
	defer f.Close()
	codes := []string{"0", "0.00", "#,##0", "#,##0.00", "0%", "0.00%", "0.000", "0.00E+00", "yyyy-mm-dd", "d-mmm-yy",
		"hh:mm",
		"h:mm:ss AM/PM", "mm:ss", "[h]:mm:ss", "yyyy/mm/dd hh:mm:ss", `0.0" m"`, "dd.mm.yyyy", "mmmm yyyy", "$#,##0.00"}
	values := []float64{0, 1, 0.5, 1234.5678, 45292.25, 45658.9, 0.0625, 99999.995, 12345678}
	for _, code := range codes {
		style, err := f.NewStyle(&excelize.Style{CustomNumFmt: &code})
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range values {
			if isDate := parseFormat(code).sections[0].isDate; isDate && (value < 1 || value > 1e6) {
				continue // no date in Excel
			}
			if err := f.SetCellValue("Sheet1", "A1", value); err != nil {
				t.Fatal(err)
			}
			if err := f.SetCellStyle("Sheet1", "A1", "A1", style); err != nil {
				t.Fatal(err)
			}
			want, err := f.GetCellValue("Sheet1", "A1")
			if err != nil {
				t.Fatal(err)
			}
			if got := parseFormat(code).show(value, false); got != want {
				t.Errorf("%v as %q is %q, excelize shows %q", value, code, got, want)
			}
		}
	}
}
