package bench

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	_ "github.com/mattn/go-sqlite3"

	"prospector/internal/crm"
	"prospector/store"
)

// lite holds the same contacts in SQLite: a memory-mapped file database with WAL and a large cache,
// the lower-cased sort keys as columns, an index for every measured shape, and FTS5 tables for
// words and substrings.
type lite struct{ db *sql.DB }

const liteSchema = `
CREATE TABLE contacts (id BLOB PRIMARY KEY, created INTEGER, last TEXT, email TEXT, title TEXT, phone TEXT, source TEXT, heat TEXT, dnc INTEGER, doc BLOB);
CREATE TABLE tags (tag BLOB, contact INTEGER, PRIMARY KEY (tag, contact)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(text, content='', prefix='1 2 3', detail='none', tokenize='unicode61 remove_diacritics 0');
CREATE VIRTUAL TABLE mails USING fts5(text, content='', detail='full', tokenize='trigram');`

const liteIndexes = `
CREATE INDEX contacts_created ON contacts (created, id);
CREATE INDEX contacts_last ON contacts (last, id);
CREATE INDEX contacts_email ON contacts (dnc, email, id);
CREATE INDEX contacts_phone ON contacts (created, id) WHERE phone IS NULL;
CREATE INDEX contacts_range ON contacts (created, last, id);
CREATE INDEX contacts_nested ON contacts (last, id, heat, source, dnc, title);
ANALYZE;
INSERT INTO words(words) VALUES ('optimize');
INSERT INTO mails(mails) VALUES ('optimize');`

func newLite(b *testing.B, st *store.Store, org uuid.UUID) *lite {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(b.TempDir(), "lite.db")+"?_journal_mode=WAL&_synchronous=NORMAL&_cache_size=-262144")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { db.Close() })
	l := &lite{db}
	l.exec(b, "PRAGMA mmap_size = 8589934592")
	l.exec(b, liteSchema)
	l.load(b, st, org)
	l.exec(b, liteIndexes)
	return l
}

func (l *lite) exec(b *testing.B, statements string) {
	if _, err := l.db.Exec(statements); err != nil {
		b.Fatal(err)
	}
}

func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (l *lite) load(b *testing.B, st *store.Store, org uuid.UUID) {
	tx, err := l.db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	prepare := func(query string) *sql.Stmt {
		s, err := tx.Prepare(query)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	contact := prepare("INSERT INTO contacts VALUES (?,?,?,?,?,?,?,?,?,?)")
	tag := prepare("INSERT INTO tags VALUES (?,?)")
	words := prepare("INSERT INTO words(rowid, text) VALUES (?,?)")
	mails := prepare("INSERT INTO mails(rowid, text) VALUES (?,?)")
	check := func(res sql.Result, err error) sql.Result {
		if err != nil {
			b.Fatal(err)
		}
		return res
	}
	err = st.View(org, func(stx *store.Tx) error {
		return stx.Records("contacts", uuid.Nil, func(id uuid.UUID, _ uint64, public []byte) (bool, error) {
			var c crm.Contact
			if err := json.Unmarshal(public, &c); err != nil {
				return false, err
			}
			row, err := check(contact.Exec(id[:], c.CreatedAt.Milli(), null(strings.ToLower(string(c.LastName))), null(strings.ToLower(string(c.Email))), null(strings.ToLower(string(c.Title))),
				null(string(c.PhoneNumber)), c.Source, null(string(c.Scoring.HeatScore)), c.DoNotContact, public)).LastInsertId()
			if err != nil {
				return false, err
			}
			for _, t := range c.Tags {
				check(tag.Exec(t[:], row))
			}
			check(words.Exec(row, strings.Join([]string{string(c.FirstName), string(c.LastName), string(c.Email), string(c.Title), string(c.PhoneNumber), string(c.LinkedinURL), string(c.Location), string(c.Notes)}, " ")))
			check(mails.Exec(row, string(c.Email)))
			return true, nil
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}

// liteQuery is a shape in SQL: the text after FROM with its arguments, and the order. The page and
// the exact count are two prepared statements.
type liteQuery struct {
	count, page *sql.Stmt
	args        []any
	from        int
}

func (l *lite) prepare(b *testing.B, where, order string, from int, args ...any) *liteQuery {
	q := &liteQuery{args: args, from: from}
	for query, to := range map[string]**sql.Stmt{
		"SELECT count(*) FROM contacts WHERE " + where:                                          &q.count,
		"SELECT doc FROM contacts WHERE " + where + " ORDER BY " + order + " LIMIT 50 OFFSET ?": &q.page,
	} {
		s, err := l.db.Prepare(query)
		if err != nil {
			b.Fatalf("%s: %v", query, err)
		}
		*to = s
	}
	return q
}

// run runs the list and returns its records and the exact count.
func (q *liteQuery) run(b *testing.B) (records [][]byte, total int) {
	if err := q.count.QueryRow(q.args...).Scan(&total); err != nil {
		b.Fatal(err)
	}
	rows, err := q.page.Query(append(append([]any{}, q.args...), q.from)...)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var doc []byte
		if err := rows.Scan(&doc); err != nil {
			b.Fatal(err)
		}
		records = append(records, doc)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return records, total
}
