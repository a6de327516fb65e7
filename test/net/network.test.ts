import { expect, test } from 'vitest'
import { networkOf, networksOf } from '../../net/network.ts'

test('an IPv4 address is a network of its own, in each of its forms', () => {
  expect(networksOf('192.0.2.1')).toEqual(['c0000201'])
  expect(networksOf('::ffff:192.0.2.1')).toEqual(['c0000201'])
  expect(networkOf('192.0.2.1')).toBe('c0000201')
})

test('an IPv6 address belongs to a /48, a /56 and a /64', () => {
  expect(networksOf('2001:db8:1:2233:4::5')).toEqual(['20010db80001', '20010db8000122', '20010db800012233'])
  expect(networkOf('2001:db8:1:2233:4::5')).toBe('20010db800012233')
})

test('texts that are no addresses are one network', () => {
  expect([networksOf(''), networksOf('unknown'), networkOf('unknown')]).toEqual([[''], [''], ''])
})
