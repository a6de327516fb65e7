require 'mail'
require_relative 'twice'

settings = { address: 'localhost', port: ENV['PORT'].to_i, user_name: 'any', password: ENV['VERDICT_API_KEY'] }
Mail.defaults { delivery_method :smtp, settings }
message = Mail.new(from: ENV['FROM'], to: ENV['TO'], subject: ENV['SUBJECT'], body: 'Shipped.')
twice { message.deliver! }
