package catalog

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"github.com/google/uuid"

	"prospector/store"
)

// Generation says how much of a made-up market there is to be. A company depends on the seed and its number alone, and a person
// on those of the company and on their own: the same again changes nothing, and more of either adds to what is there.
type Generation struct {
	Companies        int    `json:"companies"`
	PeoplePerCompany int    `json:"people_per_company"`
	Seed             uint64 `json:"seed"`
}

// generateChunk is how many companies, or people, are written in one transaction.
const generateChunk = 1000

// Generate puts a made-up market into the catalogue. When it fails, whole chunks are kept.
func (c *Catalog) Generate(ctx context.Context, st *store.Store, g Generation, report func(done, total int)) error {
	const operation = "catalog generate"
	done, total := 0, g.Companies*(1+g.PeoplePerCompany)
	var people []item[Person]
	write := func() error {
		_, err := putAll(ctx, st, operation, people, c.putPerson)
		done += len(people)
		people = people[:0]
		report(done, total)
		return err
	}
	for from := 0; from < g.Companies; from += generateChunk {
		var companies []item[Company]
		for i := from; i < min(from+generateChunk, g.Companies); i++ {
			companies = append(companies, item[Company]{rec: g.company(i)})
		}
		if _, err := putAll(ctx, st, operation, companies, c.putCompany); err != nil {
			return err
		}
		done += len(companies)
		for i := range companies {
			for j := range g.PeoplePerCompany {
				if people = append(people, item[Person]{rec: g.person(from+i, j, companies[i].rec)}); len(people) < generateChunk {
					continue
				}
				if err := write(); err != nil {
					return err
				}
			}
		}
	}
	return write()
}

// dice are what is left to chance in one record.
type dice struct{ *rand.Rand }

func (g Generation) dice(numbers ...int) dice {
	state := g.Seed
	for _, n := range numbers {
		state = mixed(state + uint64(n) + 1)
	}
	return dice{rand.New(rand.NewPCG(g.Seed, state))}
}

// mixed is the finalizer of splitmix64.
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (d dice) one(of []string) string { return of[d.IntN(len(of))] }

// chance comes true in so many of a hundred.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// some gives some of a list, in its order.
func (d dice) some(of []string, least, most int) []string {
	n := least + d.IntN(most-least+1)
	var list []string
	for i, entry := range of {
		if d.IntN(len(of)-i) < n-len(list) {
			list = append(list, entry)
		}
	}
	return list
}

// id is a UUID of version 7, whose time counts the companies.
func (d dice) id(i int) string {
	const since = 1_735_689_600_000 // the year 2025
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:], uint64(since+i)<<16|0x7000|d.Uint64()&0xfff)
	binary.BigEndian.PutUint64(id[8:], 1<<63|d.Uint64()>>2)
	return id.String()
}

// What tells the dice of one kind of record from those of another.
const (
	companyDice = iota
	personDice
)
