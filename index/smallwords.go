package index

import (
	"strings"
	"sync"
)

// latinLanguages are those that small words tell apart, the more widespread
// first: a tie goes to the first.
var latinLanguages = []string{
	"en", "de", "fr", "es", "it", "pt", "nl", "pl", "sv", "no", "da", "fi", "cs", "hu", "ro", "tr", "id", "vi",
}

// smallWords says in which languages a word is a small one: articles, pronouns,
// prepositions, auxiliary verbs, and words that ask. It is made when it is first
// needed.
var smallWords = sync.OnceValue(func() map[string][]string { return bySmallWord(smallWordLists) })

// smallWordLists are the small words of each language.
var smallWordLists = map[string]string{
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

func bySmallWord(lists map[string]string) map[string][]string {
	by := map[string][]string{}
	for _, lang := range latinLanguages {
		for word := range strings.FieldsSeq(lists[lang]) {
			by[word] = append(by[word], lang)
		}
	}
	return by
}
