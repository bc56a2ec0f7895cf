package crm

import "prospector/internal/record"

// The examples describe one fictional sale. The records refer to each other.
var (
	tagExample = record.Example[Tag](`{
		"id": "019cd6df-8be0-7811-818e-4c5767727e06",
		"created_at": "2026-03-10T08:31:40.512Z",
		"updated_at": "2026-03-10T08:33:21.007Z",
		"name": "Champion",
		"color": "green",
		"object_type": "contact"
	}`)

	accountExample = record.Example[Account](`{
		"id": "019cd704-ed2a-75cc-af67-80026654360d",
		"created_at": "2026-03-10T09:12:30.250Z",
		"updated_at": "2026-03-10T09:48:16.932Z",
		"name": "Example Robotics",
		"website": "robotics.example.com",
		"industry": "Industrial automation",
		"employee_count": 240,
		"annual_revenue": 36500000,
		"founded_year": 2014,
		"description": "Makes robot arms that pack parcels in warehouses.",
		"country": "United States",
		"location": "Portland, Oregon",
		"linkedin_url": "https://www.linkedin.com/company/robotics-example-com",
		"phone_number": "+1 503 555 0140",
		"source": "api",
		"owner_id": "019cd6c4-8c84-770e-9132-1729a8e91419",
		"notes": "Opens a second warehouse in the autumn.",
		"external_id": "CRM-10442",
		"tags": ["019cd6de-173e-7f33-a8b2-4bf48fc20904"],
		"custom_field_tier": "gold"
	}`)

	contactExample = record.Example[Contact](`{
		"id": "019cd707-3f91-775a-b036-789ac35526db",
		"created_at": "2026-03-10T09:15:02.417Z",
		"updated_at": "2026-03-10T10:05:37.640Z",
		"account_id": "019cd704-ed2a-75cc-af67-80026654360d",
		"first_name": "Nora",
		"last_name": "Winter",
		"email": "nora.winter@robotics.example.com",
		"title": "VP Operations",
		"phone_number": "+1 503 555 0147",
		"linkedin_url": "https://www.linkedin.com/in/nora-winter-example-com",
		"location": "Portland, Oregon",
		"source": "api",
		"do_not_contact": false,
		"notes": "Met at the trade fair.",
		"scoring": {"heat_score": "hot"},
		"external_id": "CRM-20817",
		"tags": ["019cd6df-8be0-7811-818e-4c5767727e06"],
		"custom_field_language": "English"
	}`)

	opportunityExample = record.Example[Opportunity](`{
		"id": "019cd70c-7967-7724-99c1-4445ce3df64f",
		"created_at": "2026-03-10T09:20:44.903Z",
		"updated_at": "2026-03-10T10:12:09.275Z",
		"name": "Example Robotics, 40 seats",
		"account_id": "019cd704-ed2a-75cc-af67-80026654360d",
		"contact_id": "019cd707-3f91-775a-b036-789ac35526db",
		"owner_id": "019cd6c4-8c84-770e-9132-1729a8e91419",
		"stage": "proposal",
		"amount": 48000,
		"currency": "USD",
		"close_date": "2026-03-31",
		"notes": "Wants to begin with one warehouse.",
		"external_id": "CRM-30096",
		"tags": []
	}`)

	taskExample = record.Example[Task](`{
		"id": "019cd70f-ba12-7a26-8ad4-eb03c8776d9b",
		"created_at": "2026-03-10T09:24:18.066Z",
		"updated_at": "2026-03-10T10:14:52.318Z",
		"title": "Send the proposal",
		"type": "email",
		"status": "open",
		"due_at": "2026-03-11T17:00:00.000Z",
		"completed_at": null,
		"contact_id": "019cd707-3f91-775a-b036-789ac35526db",
		"account_id": "019cd704-ed2a-75cc-af67-80026654360d",
		"campaign_id": null,
		"owner_id": "019cd6c4-8c84-770e-9132-1729a8e91419",
		"notes": "With the prices for one warehouse and for two.",
		"external_id": "CRM-40551",
		"tags": []
	}`)

	meetingExample = record.Example[Meeting](`{
		"id": "019cd716-b5a0-72cf-8c19-a307ec5f08e4",
		"created_at": "2026-03-10T09:31:55.680Z",
		"updated_at": "2026-03-10T10:20:31.554Z",
		"title": "Demo",
		"starts_at": "2026-03-17T16:00:00.000Z",
		"ends_at": "2026-03-17T16:45:00.000Z",
		"status": "scheduled",
		"location": "https://meet.example.com/nora-winter",
		"contact_id": "019cd707-3f91-775a-b036-789ac35526db",
		"account_id": "019cd704-ed2a-75cc-af67-80026654360d",
		"owner_id": "019cd6c4-8c84-770e-9132-1729a8e91419",
		"notes": "Show the weekly report.",
		"external_id": "CRM-50023",
		"tags": []
	}`)
)

// optedOut returns the contact with do_not_contact set.
func optedOut(c Contact) *Contact {
	c.DoNotContact = true
	return &c
}
