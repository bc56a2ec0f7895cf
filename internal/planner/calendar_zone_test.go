package planner

import (
	"encoding/binary"
	"testing"
	"time"
)

// The last listed change of the zone is in the middle of a summer that its rule continues: from UTC
// to three hours ahead, four in summer. Go starts the period of that summer in March, although the
// zone had another offset before the change.
func TestOffsetAfterLastListedChange(t *testing.T) {
	header := func(b []byte, times, types, chars uint32) []byte {
		b = append(append(b, "TZif2"...), make([]byte, 15+3*4)...)
		for _, n := range []uint32{times, types, chars} {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		return b
	}
	change := parseTime(t, "2030-06-01T00:00:00Z")
	data := header(header(nil, 0, 0, 0), 1, 2, 8)
	data = binary.BigEndian.AppendUint64(data, uint64(change.Unix()))
	data = append(data, 1)
	data = append(binary.BigEndian.AppendUint32(data, 0), 0, 0)
	data = append(binary.BigEndian.AppendUint32(data, 4*hour), 1, 4)
	data = append(data, "AAA\x00BBB\x00\nAAA-3BBB,M3.5.0,M10.5.0\n"...)
	zone, err := time.LoadLocationFromTZData("Test", data)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCalendar(zone, allDays, nil, 0, 24)
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []string{"2030-07-01", "2030-05-01", "2030-07-01", "2030-12-01"} {
		d, _ := parseDate(day)
		want := map[string]string{"2030-05-01": "T09:00:00Z", "2030-07-01": "T09:00:00+04:00", "2030-12-01": "T09:00:00+03:00"}[day]
		same(t, day, c.at(d, 9), day+want)
	}
}
