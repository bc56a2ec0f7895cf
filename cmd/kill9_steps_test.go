package cmd_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// next returns the next request of the client: after a kill it first repeats the unanswered
// request, then chooses at random.
func (c *soakClient) next() *step {
	if len(c.repeats) > 0 {
		s := c.repeats[0]
		c.repeats = c.repeats[1:]
		return s
	}
	const enough = 30 // records of one client, so that a long run does not slow down
	n := c.random.IntN(100)
	switch {
	case n < 15 || len(c.world) > enough:
		if s := c.delete(); s != nil {
			return s
		}
	case n < 40:
		if s := c.change(); s != nil {
			return s
		}
	case n < 55:
		return c.createTag()
	case n < 65:
		return c.createAccount()
	}
	return c.createContact()
}

// some returns one of the names with the prefix, if there is one.
func (c *soakClient) some(prefix string) (name string, found bool) {
	var names []string
	for name := range c.world {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	slices.Sort(names) // map order would make runs with the same seed differ
	return names[c.random.IntN(len(names))], true
}

// label returns a new name and the label stored in the record, from which the name can be read.
// Labels are unique.
func (c *soakClient) label(kind string) (name, label string) {
	c.made++
	name = fmt.Sprintf("%s %d", kind, c.made)
	return name, fmt.Sprintf("%d: %s", c.number, name)
}

// unlabel returns the client, or -1 if no client created the label, and the name of the record.
func unlabel(label string) (client int, name string) {
	number, name, _ := strings.Cut(label, ": ")
	if _, err := fmt.Sscan(number, &client); err != nil {
		return -1, label
	}
	return client, name
}

func (c *soakClient) createContact() *step {
	name, label := c.label("contact")
	e := entry{Notes: "0"}
	account := "null"
	if of, found := c.some("account "); found && c.random.IntN(2) == 0 {
		e.Account = c.world[of].ID
		account = `"` + e.Account + `"`
	}
	s := &step{
		method: http.MethodPost, path: "/v1/contacts", creates: name,
		body: fmt.Sprintf(`{"first_name": "Ada", "last_name": "Marsh", "title": %q, "notes": "0", "account_id": %s}`, label, account),
		apply: func(w world, id string) {
			e.ID = id
			w[name] = e
		},
	}
	if c.random.IntN(3) == 0 && e.Account == "" { // a repeated body must not refer to an account deleted since
		s.idempotencyKey = label
		c.kept = append(c.kept, s)
	}
	return s
}

func (c *soakClient) createAccount() *step {
	name, label := c.label("account")
	return &step{
		method: http.MethodPost, path: "/v1/accounts", body: fmt.Sprintf(`{"name": %q}`, label), creates: name,
		apply: func(w world, id string) { w[name] = entry{ID: id} },
	}
}

// createTag creates a tag with one of a few names that all clients use.
func (c *soakClient) createTag() *step {
	names := []string{"red hot", "lukewarm", "ice cold", "chilled", "boiling over", "frozen solid"}
	fold := names[c.random.IntN(len(names))]
	name := "tag " + fold
	return &step{
		method: http.MethodPost, path: "/v1/tags", creates: name,
		body:  fmt.Sprintf(`{"name": %q, "color": "red", "object_type": "contact"}`, spell(fold, c.number)),
		apply: func(w world, id string) { w[name] = entry{ID: id} },
	}
}

// spell encodes the client's number in the case of the first letters: capitals stand for ones.
// Names are compared without case, so the spellings of all clients are the same name.
func spell(name string, client int) string {
	b := []byte(strings.ToLower(name))
	for i, bit := 0, 1; bit < soakClients; i++ {
		if b[i] == ' ' {
			continue
		}
		if client&bit != 0 {
			b[i] -= 'a' - 'A'
		}
		bit <<= 1
	}
	return strings.ReplaceAll(string(b), " ", strings.Repeat(" ", 1+client%3))
}

func unspell(spelled string) (client int, name string) {
	bit := 1
	for _, r := range spelled {
		if r == ' ' || bit >= soakClients {
			continue
		}
		if r >= 'A' && r <= 'Z' {
			client |= bit
		}
		bit <<= 1
	}
	return client, strings.Join(strings.Fields(strings.ToLower(spelled)), " ")
}

// change increments the number in the notes of a contact.
func (c *soakClient) change() *step {
	name, found := c.some("contact ")
	if !found {
		return nil
	}
	c.made++
	notes := fmt.Sprint(c.made)
	return &step{
		method: http.MethodPatch, path: "/v1/contacts/" + c.world[name].ID, body: fmt.Sprintf(`{"notes": %q}`, notes),
		apply: func(w world, _ string) {
			e := w[name]
			e.Notes = notes
			w[name] = e
		},
	}
}

// delete deletes a record. Deleting an account also clears it in the records that refer to it.
func (c *soakClient) delete() *step {
	name, found := c.some("")
	if !found {
		return nil
	}
	kind, _, _ := strings.Cut(name, " ")
	id := c.world[name].ID
	return &step{
		method: http.MethodDelete, path: "/v1/" + kind + "s/" + id,
		apply: func(w world, _ string) {
			delete(w, name)
			for other, e := range w {
				if e.Account == id {
					e.Account = ""
					w[other] = e
				}
			}
		},
	}
}
