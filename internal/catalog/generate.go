package catalog

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"github.com/google/uuid"

	"prospector/store"
)

// Generation describes a made-up market. Each company depends only on the seed and its number. Each
// person depends only on the company and the number of the person. Generating the same market again
// changes nothing, and generating a larger one adds records to the existing ones.
type Generation struct {
	Companies        int    `json:"companies"`
	PeoplePerCompany int    `json:"people_per_company"`
	Seed             uint64 `json:"seed"`
}

// generateChunk is how many companies or people one transaction writes.
const generateChunk = 1000

// Generate adds a made-up market to the catalog. If it fails, the chunks that were written before
// stay.
func (c *Catalog) Generate(ctx context.Context, st *store.Store, g Generation, report func(done, total int)) error {
	const operation = "catalog generate"
	done, total := 0, g.Companies*(1+g.PeoplePerCompany)
	var people []item[Person]
	write := func() error {
		_, err := putAll(ctx, st, operation, people, c.putPerson, nil)
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
		if _, err := putAll(ctx, st, operation, companies, c.putCompany, nil); err != nil {
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

// dice is the random source of one record.
type dice struct{ *rand.Rand }

func (g Generation) dice(numbers ...int) dice {
	state := g.Seed
	for _, n := range numbers {
		state = mixed(state + uint64(n) + 1)
	}
	return dice{rand.New(rand.NewPCG(g.Seed, state))}
}

// mixed is the finalizer of the splitmix64 generator.
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (d dice) one(of []string) string { return of[d.IntN(len(of))] }

// chance returns true with the given probability in percent.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// some returns between least and most entries of a list, in the order of the list.
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

// id returns a version 7 UUID whose timestamp increases with the number of the company.
func (d dice) id(i int) string {
	const epoch = 1_735_689_600_000 // start of 2025, in milliseconds
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:], uint64(epoch+i)<<16|0x7000|d.Uint64()&0xfff)
	binary.BigEndian.PutUint64(id[8:], 1<<63|d.Uint64()>>2)
	return id.String()
}

// The first argument of Generation.dice, so that companies and people have independent random
// sources.
const (
	companyDice = iota
	personDice
)
