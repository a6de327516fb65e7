require 'net/smtp'
require_relative 'twice'

to = ENV['TO'].split(',')
message = <<~MESSAGE
  From: #{ENV['FROM']}
  To: #{to.join(",\n ")}
  Subject: #{ENV['SUBJECT']}

  Shipped.
MESSAGE

twice do
  Net::SMTP.start('localhost', ENV['PORT'].to_i, user: 'any', secret: ENV['VERDICT_API_KEY']) do |smtp|
    smtp.send_message(message, ENV['FROM'], *to)
  end
end
