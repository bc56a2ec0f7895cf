package rows

import (
	"archive/zip"
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// This file reads the parts of an .xlsx file around its sheets. It does not use excelize, which keeps the whole archive
// and every part but the largest in memory, and whose row iterator formats dates as the cell shows them, such as
// 11-03-25, without a way to find out which cells are dates.

// workbook is an open .xlsx file. Its parts are read one after the other.
type workbook struct {
	files   map[string]*zip.File // by path, in lower case
	guard   *guard               // of all parts together
	sheets  []sheet
	sheet   string // the name of the one that is read
	is1904  bool   // dates count from 1904
	formats []cellFormat
	strings stringTable
	part    io.Closer
}

type sheet struct {
	name, path string
	isHidden   bool
}

var errNoSpreadsheet = errors.New("the file is an Office document, but not an Excel spreadsheet; save the table as .xlsx or CSV")

// isOffice reports whether an archive is a document of an Office program.
func isOffice(z *zip.Reader) bool {
	return slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == "[Content_Types].xml" || f.Name == "mimetype" })
}

// openWorkbook opens the sheet with a name, or else the first one that is visible.
func openWorkbook(z *zip.Reader, g *guard, name string) (*workbook, error) {
	w := &workbook{files: map[string]*zip.File{}, guard: g}
	for _, f := range z.File {
		w.files[strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(f.Name, "/"), `\`, "/"))] = f
	}
	if err := w.read(name); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// read reads the parts around the sheets.
func (w *workbook) read(name string) error {
	main, err := w.mainPart()
	if err != nil {
		return err
	}
	links, err := w.links(main)
	if err != nil {
		return err
	}
	if err := w.readMain(main, links); err != nil {
		return err
	}
	for _, link := range links {
		switch link.kind {
		case "styles":
			err = w.readFormats(link.target)
		case "sharedstrings":
			err = w.strings.read(w, link.target)
		}
		if err != nil {
			return err
		}
	}
	return w.choose(name)
}

// mainPart returns the path of the part that lists the sheets.
func (w *workbook) mainPart() (string, error) {
	links, err := w.links("")
	if err != nil {
		return "", err
	}
	main := "xl/workbook.xml"
	for _, link := range links {
		if link.kind == "officedocument" {
			main = link.target
		}
	}
	switch {
	case strings.HasSuffix(main, ".bin") || w.files["xl/workbook.bin"] != nil:
		return "", errors.New("the file is a binary spreadsheet (.xlsb); save it as .xlsx or CSV")
	case w.files[main] == nil || !strings.Contains(main, "workbook"):
		return "", errNoSpreadsheet
	}
	return main, nil
}

// partLink leads from one part to another.
type partLink struct{ kind, target string }

// links returns the links of a part by their ids, or those of the file if the part is "".
func (w *workbook) links(from string) (map[string]partLink, error) {
	dir, base := path.Split(from)
	links := map[string]partLink{}
	if w.files[dir+"_rels/"+base+".rels"] == nil {
		return links, nil
	}
	return links, w.readPart(dir+"_rels/"+base+".rels", func(e xml.StartElement) error {
		if e.Name.Local != "Relationship" {
			return nil
		}
		target := strings.ToLower(attribute(e, "Target"))
		if rooted, is := strings.CutPrefix(target, "/"); is {
			target = rooted
		} else {
			target = path.Join(dir, target)
		}
		kind := attribute(e, "Type")
		links[attribute(e, "Id")] = partLink{strings.ToLower(kind[strings.LastIndexByte(kind, '/')+1:]), target}
		return nil
	})
}

// readMain reads the list of the sheets.
func (w *workbook) readMain(main string, links map[string]partLink) error {
	return w.readPart(main, func(e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			w.is1904 = isTrue(attribute(e, "date1904"))
		case "sheet":
			link := links[attributeOf(e, "id", true)]
			if link.kind == "worksheet" && w.files[link.target] != nil {
				state := attribute(e, "state")
				w.sheets = append(w.sheets, sheet{attribute(e, "name"), link.target, state != "" && state != "visible"})
			}
		}
		return nil
	})
}

// choose decides which sheet is read.
func (w *workbook) choose(name string) error {
	at := slices.IndexFunc(w.sheets, func(s sheet) bool { return s.name == name })
	if at < 0 && name != "" {
		at = slices.IndexFunc(w.sheets, func(s sheet) bool { return strings.EqualFold(strings.TrimSpace(s.name), strings.TrimSpace(name)) })
	} else if name == "" {
		at = slices.IndexFunc(w.sheets, func(s sheet) bool { return !s.isHidden })
	}
	switch {
	case at >= 0:
		w.sheet = w.sheets[at].name
		return nil
	case name != "":
		return invalid("sheet", "the file has no sheet %q; its sheets are: %s", shorten(name), listed(w.names()))
	case len(w.sheets) > 0:
		return invalid("sheet", "all sheets of the file are hidden; name one of them: %s", listed(w.names()))
	}
	return errors.New("the spreadsheet has no sheet with cells")
}

// names returns the names of the sheets, the visible ones first.
func (w *workbook) names() (names []string) {
	for _, hidden := range []bool{false, true} {
		for _, s := range w.sheets {
			if s.isHidden == hidden {
				names = append(names, s.name)
			}
		}
	}
	return names
}

// Close removes what is stored of the file.
func (w *workbook) Close() {
	if w.part != nil {
		_ = w.part.Close()
	}
	w.strings.close()
}

// open opens a part.
func (w *workbook) open(name string) (*xmlReader, error) {
	f := w.files[name]
	if f == nil {
		return nil, fmt.Errorf("the spreadsheet is damaged: %s is missing", shorten(name))
	}
	if f.Flags&1 != 0 {
		return nil, errors.New("the file is a spreadsheet with a password; save it without one")
	}
	part, err := f.Open()
	if err != nil {
		return nil, damaged(err)
	}
	if w.part != nil {
		_ = w.part.Close()
	}
	w.part, w.guard.in = part, part
	bytes := &limitedBytes{Reader: bufio.NewReaderSize(w.guard, 1<<16)}
	return &xmlReader{decoder: xml.NewDecoder(bytes), bytes: bytes}, nil
}

// readPart calls each for every element of a part.
func (w *workbook) readPart(name string, each func(xml.StartElement) error) error {
	x, err := w.open(name)
	if err != nil {
		return err
	}
	for {
		token, err := x.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if e, is := token.(xml.StartElement); is {
			if err := each(e); err != nil {
				return err
			}
		}
	}
}

// maxToken is the number of bytes that a name, a tag or a text of a part may have. A cell has at most 32,767 characters.
const maxToken = 1 << 18

var errToken = fmt.Errorf("the spreadsheet has a cell of more than %d bytes, which spreadsheet programs cannot have", maxToken)

// limitedBytes fails when more than maxToken bytes are read before it is reset.
type limitedBytes struct {
	*bufio.Reader
	n int
}

func (l *limitedBytes) ReadByte() (byte, error) {
	if l.n++; l.n > maxToken {
		return 0, errToken
	}
	return l.Reader.ReadByte()
}

// xmlReader reads the tokens of a part. Entities are not expanded, except for those that XML itself has.
type xmlReader struct {
	decoder *xml.Decoder
	bytes   *limitedBytes
	text    []byte
}

func (x *xmlReader) next() (xml.Token, error) {
	x.bytes.n = 0
	token, err := x.decoder.RawToken()
	if err != nil && err != io.EOF {
		return nil, damaged(err)
	}
	return token, err
}

// textIn returns the text in an element that has begun, up to its end: that of a cell, or of the table of texts. It is valid
// until the next call.
func (x *xmlReader) textIn(element string) ([]byte, error) {
	x.text = x.text[:0]
	isText, skipped := false, 0
	for {
		token, err := x.next()
		if err != nil {
			return nil, truncated(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "v", "t":
				isText = skipped == 0
			case "rPh", "f", "extLst": // how it is pronounced, and the formula
				skipped++
			}
		case xml.EndElement:
			switch e.Name.Local {
			case "v", "t":
				isText = false
			case "rPh", "f", "extLst":
				skipped--
			case element:
				return x.text, nil
			}
		case xml.CharData:
			if isText {
				if x.text = append(x.text, e...); len(x.text) > maxToken {
					return nil, errToken
				}
			}
		}
	}
}

// damaged returns the error of a part that cannot be read.
func damaged(err error) error {
	var syntax *xml.SyntaxError
	switch {
	case errors.As(err, &syntax) && strings.Contains(syntax.Msg, "unexpected EOF"):
		return fmt.Errorf("the spreadsheet is truncated: %w", io.ErrUnexpectedEOF)
	case errors.As(err, &syntax), errors.Is(err, zip.ErrFormat), errors.Is(err, zip.ErrChecksum), errors.Is(err, zip.ErrAlgorithm):
		return fmt.Errorf("the spreadsheet is damaged: %w", err)
	}
	return err
}

// attribute returns an attribute without a prefix.
func attribute(e xml.StartElement, name string) string { return attributeOf(e, name, false) }

func attributeOf(e xml.StartElement, name string, prefixed bool) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && (a.Name.Space != "") == prefixed {
			return a.Value
		}
	}
	return ""
}

func isTrue(text string) bool { return text == "1" || strings.EqualFold(text, "true") }

// readFormats reads which formats of cells show dates.
func (w *workbook) readFormats(name string) error {
	codes := map[int]string{}
	isInCells := false
	return w.readPart(name, func(e xml.StartElement) error {
		id, err := strconv.Atoi(attribute(e, "numFmtId"))
		switch e.Name.Local {
		case "numFmt":
			if err == nil && len(codes) < 1<<16 {
				codes[id] = attribute(e, "formatCode")
			}
		case "cellXfs":
			isInCells = true
		case "cellStyles", "dxfs":
			isInCells = false
		case "xf":
			if isInCells && len(w.formats) < 1<<16 {
				w.formats = append(w.formats, formatOf(id, codes[id]))
			}
		}
		return nil
	})
}

// openSheet starts to read the rows of the chosen sheet.
func (w *workbook) openSheet() (*sheetReader, error) {
	at := slices.IndexFunc(w.sheets, func(s sheet) bool { return s.name == w.sheet })
	x, err := w.open(w.sheets[at].path)
	return &sheetReader{book: w, xml: x}, err
}
