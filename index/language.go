package index

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// maxVotes is the number of words for the guess of a language.
const maxVotes = 300

// Language guesses the language of a text: by its script, and for the Latin script by stop
// words. The default is "en"; it is right for code too.
func Language(text string) string { return languageAmong(text, nil) }

// languageAmong is like Language with a choice of languages; nil means all.
func languageAmong(text string, choice map[string]int) string {
	v := votes{count: map[string]int{}, distinct: map[string]int{}, scripts: map[script]int{}}
	seen := map[string]bool{}
	split(text, forQuery, func(p piece) bool {
		first, _ := utf8.DecodeRuneInString(p.text)
		v.scripts[scriptOf(first)]++
		for _, lang := range stopWords()[p.text] {
			if _, ok := choice[lang]; len(p.text) > 1 && (ok || choice == nil) {
				v.count[lang]++
				if !seen[p.text] {
					v.distinct[lang]++
				}
			}
		}
		seen[p.text] = true
		v.words++
		return v.words < maxVotes
	})
	if s := v.script(); s != latin {
		return languageOfScript(s, text, v.scripts)
	}
	return v.latin()
}

// votes counts the hints of the words of a text at its language.
type votes struct {
	words    int
	count    map[string]int // stop words of each language
	distinct map[string]int
	scripts  map[script]int // words in each script
}

func (v votes) script() script {
	most := latin
	for s, count := range v.scripts {
		if count > v.scripts[most] || count == v.scripts[most] && s < most {
			most = s
		}
	}
	return most
}

// latin returns the language with the most votes. A language other than English
// needs several different stop words that are frequent: identifiers in code are
// often stop words of some language.
func (v votes) latin() string {
	best := "en"
	for _, lang := range latinLanguages {
		if v.count[lang] <= v.count[best] || 10*v.count[lang] < v.words {
			continue
		}
		if v.words > 12 && v.distinct[lang] < 3 {
			continue
		}
		best = lang
	}
	return best
}

func languageOfScript(s script, text string, scripts map[script]int) string {
	switch s {
	case cyrillic:
		if strings.ContainsAny(text, "іїєґІЇЄҐ") {
			return "uk"
		}
		return "ru"
	case arabicScript:
		if strings.ContainsAny(text, "پچژگکیےں") {
			return "fa"
		}
		return "ar"
	case tamilScript:
		return "ta"
	case kana:
		return "ja"
	case han:
		if scripts[kana] > 0 {
			return "ja"
		}
		return "zh"
	case hangul:
		return "ko"
	case southeastAsian:
		return "th"
	}
	return "el" // and all languages without a stemmer
}

// isStopWord reports whether a word is a stop word in a language.
func isStopWord(word, lang string) bool {
	for _, of := range stopWords()[word] {
		if of == lang {
			return true
		}
	}
	return false
}

// latinLanguages lists the languages that stop words distinguish, the more
// widespread first: the first wins a tie.
var latinLanguages = []string{
	"en", "de", "fr", "es", "it", "pt", "nl", "pl", "sv", "no", "da", "fi", "cs", "hu", "ro", "tr", "id", "vi",
}

// stopWords maps a stop word to its languages: an article, pronoun, preposition, auxiliary verb
// or question word. It is made at the first use, to keep the start of the program fast.
var stopWords = sync.OnceValue(func() map[string][]string { return byStopWord(stopWordLists) })

// stopWordLists has the stop words of each language.
var stopWordLists = map[string]string{
	"en": `a an the and or but if of in on at to for from by with about into onto over under between through during
		before after as than then so not no nor is are was were be been being am do does did doing done have has had
		having will would shall should can could may might must i me my mine myself we us our ours you your yours he
		him his she her hers it its they them their theirs this that these those there here what which who whom whose
		when where why how all any both each some such only own same too very just also im ive id dont doesnt didnt
		isnt arent wasnt cant youre theyre thats whats`,
	"de": `der die das den dem des ein eine einen einem einer eines und oder aber wenn weil dass daß als wie ist sind
		war waren wird werden wurde wurden sein hat haben hatte hatten kann können muss müssen soll sollen nicht kein
		keine keinen mit von vom zu zum zur bei beim nach aus auf für über unter vor durch gegen ohne um an am im in
		ich du er sie es wir ihr mich dich sich uns mir dir ihm ihn ihnen mein dein unser euer was wer wen wem wo
		wann warum wieso welche welcher welches auch noch nur schon so dann hier da bis man`,
	"fr": `le la les un une des du de d l et ou mais si que qui quoi dont où quand comment pourquoi quel quelle quels
		quelles est sont était étaient été être avoir ai as avons avez ont avait sera seront ne pas plus dans sur
		sous avec sans pour par chez entre vers je tu il elle on nous vous ils elles me te se mon ton son ma ta sa
		mes tes ses notre votre leur leurs ce cet cette ces ça cela y en au aux comme aussi très`,
	"es": `el la los las un una unos unas y o pero si que quien quién qué cuál cuándo cómo dónde porque por para con
		sin sobre entre hasta desde de del al a en es son era eran fue fueron ser estar está están estaba hay ha han
		había no se me te le les lo nos su sus mi mis tu tus este esta estos estas ese esa eso esto como más muy ya
		también cuando donde`,
	"it": `il lo la i gli le un uno una di del dello della dei degli delle da dal dalla in nel nella nei nelle su sul
		sulla con per tra fra e ed o ma se che chi cui quale quali quando come dove perché è sono era erano essere
		stato ha hanno aveva non si mi ti ci vi suo sua suoi mio mia questo questa questi quello quella più anche
		molto al alla ai alle`,
	"pt": `o a os as um uma uns umas de do da dos das em no na nos nas por pelo pela para com sem sobre entre até e
		ou mas se que quem qual quais quando como onde porque é são era eram foi foram ser estar está estão tem têm
		tinha não me te lhe nós eu ele ela eles elas seu sua seus suas meu minha este esta isso isto mais muito já
		também ao à aos às`,
	"nl": `de het een en of maar als dan dat die dit deze wie wat waar wanneer waarom hoe welke is zijn was waren
		wordt worden werd heb heeft hebben had niet geen met van voor door over onder tussen naar uit bij om op aan
		in te tot ik jij je hij zij ze wij we jullie mij hem haar ons hun mijn jouw ook nog wel er hier daar`,
	"pl": `i w z na do od za po dla o u przez przed pod nad bez że jest są był była było były być nie tak to ten ta
		te ci co kto gdzie kiedy jak dlaczego który która które się ja ty on ona my wy oni jego jej ich mój twój
		oraz albo ale jeśli już tylko też czy ze`,
	"sv": `och att det som en ett den de är var på i av för med till från om inte har hade ska skulle kan kunde när
		hur vad vem varför vilken vilket jag du han hon vi ni dem mig dig sig min din sin vår er eller men så där här
		också bara utan över under efter`,
	"no": `og at det som en et ei den de er var på i av for med til fra om ikke har hadde skal skulle kan kunne når
		hvordan hva hvem hvorfor hvilken jeg du han hun vi dere dem meg deg seg min din sin vår eller men så der her
		også bare uten over under etter`,
	"da": `og at det som en et den de er var på i af for med til fra om ikke har havde skal skulle kan kunne når
		hvordan hvad hvem hvorfor hvilken jeg du han hun vi dem mig dig sig min din sin vores eller men så der her
		også bare uden over under efter blev bliver`,
	"fi": `ja on ei että se ne hän minä sinä me te he oli ovat olivat olla ole en et emme kun jos mutta tai vai kuin
		mitä mikä kuka missä milloin miten miksi joka jotka tämä nämä tuo niin myös vain jo sekä kanssa ilman mukaan`,
	"cs": `a i v ve na do od z ze s se si o u pro před pod nad bez že je jsou byl byla bylo byly být není ne ano to
		ten ta ty co kdo kde kdy jak proč který která které já ty on ona my vy oni jeho její jejich nebo ale když
		jen také už podle`,
	"hu": `a az és vagy de ha hogy nem is egy van vannak volt voltak lesz lenni ez ezek azok én te ő mi ti ők mit ki
		hol mikor hogyan miért melyik csak már még meg el fel le be ki után előtt alatt között mert mint`,
	"ro": `și sau dar dacă că ce cine unde când cum care este sunt era erau fost fi nu un o al ai ale a la în din de
		pe cu fără pentru prin între eu tu el ea noi voi ei ele lui lor mai foarte doar acest această aceste după`,
	"tr": `ve veya ama eğer ki bu şu o bir için ile gibi kadar daha çok en mi mı mu mü değil var yok ne kim nerede
		zaman nasıl neden hangi ben sen biz siz onlar benim senin onun bizim olan olarak sonra önce da de`,
	"id": `yang dan di ke dari untuk dengan pada adalah ini itu tidak atau juga akan sudah bisa dalam oleh saya kamu
		kami kita mereka apa siapa kapan bagaimana mengapa tetapi karena ada`,
	"vi": `và là của có không được cho trong với một các những này đó khi thì mà ở từ đến tôi bạn anh chị gì ai nào
		sao như cũng đã sẽ đang vì nhưng hay`,
}

func byStopWord(lists map[string]string) map[string][]string {
	by := map[string][]string{}
	for _, lang := range latinLanguages {
		for word := range strings.FieldsSeq(lists[lang]) {
			by[word] = append(by[word], lang)
		}
	}
	return by
}

// A script is a writing system, as far as it matters for finding words.
type script int

const (
	other script = iota
	latin
	cyrillic
	arabicScript
	tamilScript
	han
	kana
	hangul
	southeastAsian // Thai and its neighbours, written without spaces
)

func scriptOf(r rune) script {
	switch {
	case r < 0x250:
		return latin
	case r < 0x370:
		return other
	case unicode.Is(unicode.Cyrillic, r):
		return cyrillic
	case unicode.Is(unicode.Arabic, r):
		return arabicScript
	case unicode.Is(unicode.Tamil, r):
		return tamilScript
	case unicode.Is(unicode.Han, r):
		return han
	case r == 'ー' || r == 'ｰ' || unicode.In(r, unicode.Hiragana, unicode.Katakana):
		return kana
	case unicode.Is(unicode.Hangul, r):
		return hangul
	case unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return southeastAsian
	case unicode.Is(unicode.Latin, r):
		return latin
	}
	return other
}

// spaceless reports whether spaces do not separate the words of a script, or
// particles are attached to them: such text is found by pairs of characters.
func (s script) spaceless() bool { return s >= han }

func scriptOfLanguage(lang string) script {
	switch lang {
	case "ru", "uk", "bg", "sr":
		return cyrillic
	case "ar", "fa", "ur":
		return arabicScript
	case "ta":
		return tamilScript
	case "zh", "ja", "ko", "th", "el", "he", "hi":
		return other
	}
	return latin
}

// defaultLanguage returns the language assumed for words of a script in a text of
// another script.
func defaultLanguage(s script) string {
	switch s {
	case latin:
		return "en"
	case cyrillic:
		return "ru"
	case arabicScript:
		return "ar"
	case tamilScript:
		return "ta"
	}
	return ""
}
