package rows_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"

	"prospector/internal/rows"
)

// peopleOf are names as people of different countries have them.
var peopleOf = map[string]string{
	"German":     "Jürgen,Müller,München\nKäthe,Groß,Köln\nBjörn,Schäfer,Düsseldorf\nJörg,Weiß,Nürnberg\nÄnne,Öhler,Überlingen\n",
	"French":     "Hélène,Lefèvre,Orléans\nFrançois,Bérénger,Besançon\nZoé,Châtelain,Nîmes\nNoël,D’Hérouville,Évry\nJérôme,Gaétan,Saint-Étienne\n",
	"Spanish":    "José,Muñoz,Málaga\nMaría,García,León\nÁngel,Núñez,A Coruña\nInés,Peña,Córdoba\nÓscar,Ibáñez,Cádiz\n",
	"Danish":     "Søren,Kjær,Århus\nJørgen,Sørensen,København\nÅse,Bøgh,Ærøskøbing\n",
	"Italian":    "Nicolò,Forlì,Città di Castello\nMosè,Cantù,Forlì\n",
	"mixed":      "Jürgen,Müller,Köln\nHélène,Lefèvre,Nîmes\nJosé,Muñoz,Málaga\nSøren,Kjær,Århus\nJoão,Conceição,São Paulo\n",
	"Portuguese": "João,Gonçalves,São Paulo\nConceição,Simões,Évora\nLúcia,Araújo,Maringá\n",
	"Polish":     "Łukasz,Wiśniewski,Łódź\nMałgorzata,Dąbrowska,Gdańsk\nPaweł,Zieliński,Kraków\nJózef,Wójcik,Poznań\nGrażyna,Król,Częstochowa\n",
	"Czech":      "Jiří,Dvořák,Plzeň\nTomáš,Černý,Děčín\nLukáš,Růžička,České Budějovice\nŽaneta,Šťastná,Ústí\n",
	"Hungarian":  "László,Szőke,Győr\nÁgnes,Fűrész,Székesfehérvár\nGyörgy,Kovács,Kőszeg\nZoltán,Sörös,Pécs\n",
	"Romanian":   "Ştefan,Ionuţ,Bucureşti\nMădălina,Pătraşcu,Iaşi\nRăzvan,Brâncuş,Constanţa\n",
	"Russian":    "Иван,Петров,Москва\nОльга,Щербакова,Санкт-Петербург\nЮрий,Жуков,Екатеринбург\n",
	"Bulgarian":  "Георги,Димитров,София\nЦветелина,Йорданова,Пловдив\n",
	"Turkish":    "Gökçe,Yıldız,İstanbul\nŞebnem,Çağlar,Eskişehir\nOğuzhan,Aydın,İzmir\nÖzgür,Kılıç,Muğla\n",
	"Japanese":   "太郎,山田,東京都\n花子,鈴木,大阪市\nさくら,佐藤,横浜市\nケンジ,タナカ,株式会社サンプル\n",
	"Chinese":    "伟,王,北京\n芳,李,上海市\n娜,张,深圳\n秀英,刘,广州有限公司\n",
	"Korean":     "민준,김,서울특별시\n서연,이,부산광역시\n지훈,박,인천\n",
}

func TestCharsets(t *testing.T) {
	for name, c := range map[string]struct {
		in    encoding.Encoding
		of    string
		names []string
	}{
		"iso-8859-1":   {charmap.Windows1252, "Western", []string{"German", "Spanish", "Danish", "mixed", "Italian", "Portuguese"}},
		"windows-1252": {charmap.Windows1252, "Western", []string{"French"}},
		"windows-1250": {charmap.Windows1250, "Central European", []string{"Polish", "Czech", "Hungarian", "Romanian"}},
		"windows-1251": {charmap.Windows1251, "Cyrillic", []string{"Russian", "Bulgarian"}},
		"windows-1254": {charmap.Windows1254, "Turkish", []string{"Turkish"}},
		"macintosh":    {charmap.Macintosh, "Western", []string{"German", "Spanish", "French", "Danish", "mixed", "Italian", "Portuguese"}},
		"shift_jis":    {japanese.ShiftJIS, "Japanese", []string{"Japanese"}},
		"gb18030":      {simplifiedchinese.GB18030, "Chinese", []string{"Chinese"}},
		"euc-kr":       {korean.EUCKR, "Korean", []string{"Korean"}},
	} {
		for _, of := range c.names {
			people := peopleOf[of]
			text := "first_name,last_name,city\n" + strings.Repeat("Ada,Berg,Bonn\n", 3) + people
			raw, err := c.in.NewEncoder().String(text)
			if err != nil {
				t.Fatal(of, err)
			}
			r, table, err := read(t, strings.NewReader(raw), rows.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, row := range table[3:] {
				got.WriteString(strings.Join(row.Cells, ",") + "\n")
			}
			if r.Encoding() != name || r.EncodingUnsure() || got.String() != people {
				t.Errorf("%s in %s is read as %s (unsure: %v): %s", of, name, r.Encoding(), r.EncodingUnsure(), got.String())
			}
			encoding := name
			if name == "iso-8859-1" && of == "French" {
				encoding = "windows-1252"
			}
			if r, table, err := read(t, strings.NewReader(raw), rows.Options{Encoding: encoding}); err != nil || r.Encoding() != encoding || r.EncodingUnsure() || table[3].Cells[0] != strings.SplitN(people, ",", 2)[0] {
				t.Errorf("%s as %s: %q, %v", of, encoding, describeAll(table[:4]), err)
			}
			// Reading one byte at a time makes no difference.
			if again, same, err := read(t, onebyte{strings.NewReader(raw)}, rows.Options{}); err != nil || again.Encoding() != name || !slices.Equal(describeAll(same), describeAll(table)) {
				t.Errorf("%s, byte by byte, as %s: %q, %v", of, again.Encoding(), describeAll(same), err)
			}
		}
	}
}

// TestFewLetters checks what is said of files with one or two letters to go by.
func TestFewLetters(t *testing.T) {
	for raw, want := range map[string]string{
		"name\nM\xfcller\n":         "iso-8859-1 Müller",
		"name\nGarc\xeda\n":         "iso-8859-1 García",
		"name\nD\x92Angelo\n":       "windows-1252 D’Angelo",
		"name\nM\x9fller\n":         "macintosh Müller",
		"name\nS\xf8ren\n":          "iso-8859-1 Søren",
		"name\n5 \x80\n":            "windows-1252 5 €",
		"name\n\xd1\xee\xed\xff\n":  "windows-1251 Соня",
		"name\nWi\x9cniewski\n":     "windows-1250 Wiśniewski",
		"name\n\xb1\xe8\xb9\xce\n":  "euc-kr 김민",
		"name\n\x8eR\x93c\n":        "shift_jis 山田",
		"name\nZo\xc3\xab\n":        "utf-8 Zoë",
		"name\nplain\n":             "utf-8 plain",
		"name\n\xcd\xf5\xce\xb0\n":  "gb18030 王伟",
		"name\nY\xfdld\xfdz\n":      "windows-1254 Yıldız",
		"name\nJi\xf8\xed\n":        "windows-1250 Jiří",
		"name\nPe\xf1a\n":           "iso-8859-1 Peña",
		"name\n\xc0 la carte, 5%\n": "iso-8859-1 À la carte",
	} {
		r, table, err := read(t, strings.NewReader(raw), rows.Options{})
		if err != nil {
			t.Errorf("%q: %v", raw, err)
			continue
		}
		got := r.Encoding() + " " + table[0].Cells[0]
		if strings.HasSuffix(want, "?") {
			got += "?"
			if !r.EncodingUnsure() {
				t.Errorf("%q is said to be sure", raw)
			}
		}
		if got != want {
			t.Errorf("%q is %s (unsure: %v), want %s", raw, got, r.EncodingUnsure(), want)
		}
	}
	if _, _, err := read(t, strings.NewReader("a"), rows.Options{Encoding: "ebcdic"}); err == nil || !strings.Contains(err.Error(), "is not one of: utf-8, utf-16le") {
		t.Error(err)
	}
}
